import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Account } from './account';
import { chooseFreePort } from './free-port';
import { parsePostmasterFile } from './postmaster-file';
import { serverArguments } from './server-arguments';
import { type StartFailure, startFailure } from './start-failure';
import { EmbeddedPostgresError } from './unavailable';
import { type Guarded, guard } from './watchdog';

/** What a server is started with, again at each start. */
export interface Launch {
  home: string;
  native: string;
  account: Account | undefined;
  temporary: boolean;
  settings?: Readonly<Record<string, string>>;
  /** Folder of this start, which the watchdog removes when we are gone. */
  runFolder: string;
}

/** How long a start may take; recovery after a crash under load was seen to take 3 s. */
const START_DEADLINE_MS = 60_000;
const PORT_ATTEMPTS = 8;

/**
 * Starts the server on the asked-for port, or on free ports until one is ours.
 *
 * @returns the server, or `folder-in-use` when another server of this folder was faster
 */
export async function launch(
  order: Launch,
  port?: number,
): Promise<{ server: Guarded; port: number } | 'folder-in-use'> {
  for (let attempt = 1; ; attempt += 1) {
    const candidate = port ?? (await chooseFreePort());
    const started = await launchOn(order, candidate);
    if ('server' in started) return { server: started.server, port: candidate };
    if (started.kind === 'folder-in-use') return 'folder-in-use';
    if (started.kind === 'other') throw refusal(order, `the server did not start (${started.message})`);
    if (port !== undefined) throw new EmbeddedPostgresError(`port ${port} is taken`, 'choose another port');
    if (attempt === PORT_ATTEMPTS) throw new EmbeddedPostgresError(`no free port in ${attempt} attempts`);
  }
}

function refusal(order: Launch, why: string): EmbeddedPostgresError {
  return order.temporary ? new EmbeddedPostgresError(why) : EmbeddedPostgresError.unusableFolder(order.home, why);
}

async function launchOn(order: Launch, port: number): Promise<{ server: Guarded } | StartFailure> {
  const log = join(order.home, 'server.log');
  const logged = await stat(log).then(
    (stats) => stats.size,
    () => 0,
  );
  const dataDirectory = join(order.home, 'data');
  const server = guard({
    command: join(order.native, 'bin', 'postgres'),
    args: serverArguments({ dataDirectory, port, temporary: order.temporary, settings: order.settings }),
    account: order.account,
    lastSignal: order.temporary ? 'QUIT' : 'INT',
    log,
    leftover: order.runFolder,
  });
  if (await becomesReady(server, dataDirectory)) {
    server.release();
    return { server };
  }
  const end = server.ended();
  if (end && 'error' in end) throw new EmbeddedPostgresError(`cannot start the watchdog (${end.error.message})`);
  const said = await readFile(log).catch(() => Buffer.alloc(0));
  return startFailure(said.subarray(logged).toString(), end?.code);
}

/** Ready is what `postmaster.pid` says, written by this server and not left by an earlier one. False: it has ended. */
async function becomesReady(server: Guarded, dataDirectory: string): Promise<boolean> {
  const deadline = Date.now() + START_DEADLINE_MS;
  while (server.ended() === undefined) {
    const text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
    const file = parsePostmasterFile(text);
    if (file?.status === 'ready' && file.pid === (await server.pid)) return true;
    if (Date.now() > deadline) {
      await endServer(server, 'QUIT');
      throw new EmbeddedPostgresError(`the server was not ready within ${START_DEADLINE_MS / 1000} s`);
    }
    await delay(10);
  }
  return false;
}

/** Sends the signal and waits for the end; QUIT after 10 s, KILL after 15 s. */
export async function endServer(server: Guarded, signal: 'INT' | 'QUIT'): Promise<void> {
  server.signal(signal);
  // The timers also keep this process alive until the server has ended.
  const timers = [
    setTimeout(() => server.signal('QUIT'), 10_000),
    setTimeout(() => server.signal('KILL'), 15_000),
    setTimeout(() => {}, 30_000),
  ];
  await server.exited;
  for (const timer of timers) clearTimeout(timer);
}
