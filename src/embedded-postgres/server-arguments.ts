import { EmbeddedPostgresError } from './unavailable';

/** Decided by the launcher: the address that `url` names and the one that others attach to. */
const RESERVED = ['port', 'listen_addresses', 'data_directory'];

/** A temporary cluster is worth nothing after a crash of the machine. */
const NOT_DURABLE = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

const BASE = { unix_socket_directories: '', logging_collector: 'off', log_destination: 'stderr' };

/**
 * Arguments of `postgres`: loopback only, no socket in the file system (its path is limited to 107 bytes), then the
 * durability that fits the folder, then the caller's settings, which win.
 *
 * @throws EmbeddedPostgresError for a setting that is no setting's name or that the launcher decides itself
 */
export function serverArguments(server: {
  dataDirectory: string;
  port: number;
  temporary: boolean;
  settings?: Readonly<Record<string, string>>;
}): string[] {
  for (const name of Object.keys(server.settings ?? {})) {
    if (!/^[a-z_][a-z0-9_.]*$/i.test(name)) {
      throw new EmbeddedPostgresError(`"${name}" is not the name of a server setting`, 'correct settings');
    }
    if (RESERVED.includes(name.toLowerCase())) {
      throw new EmbeddedPostgresError(`the setting ${name} is decided by the launcher`, 'take it out of settings');
    }
  }
  const settings = { ...BASE, ...(server.temporary ? NOT_DURABLE : {}), ...server.settings };
  return [
    ...['-D', server.dataDirectory, '-c', 'listen_addresses=127.0.0.1', '-c', `port=${server.port}`],
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
}
