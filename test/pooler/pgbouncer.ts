import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync, chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface PgBouncer {
  readonly url: string;
  close(): Promise<void>;
}

const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find((path) =>
  existsSync(path),
);

export const hasPgBouncer = program !== undefined;

/** Starts PgBouncer in transaction mode, with fewer connections to the server than it takes from clients. */
export async function startPgBouncer(databaseUrl: string): Promise<PgBouncer> {
  const url = new URL(databaseUrl);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'));
  chmodSync(folder, 0o755);
  const name = url.pathname.slice(1);
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    [
      '[databases]',
      `${name} = host=${url.hostname} port=${url.port} dbname=${name} user=${url.username}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'auth_type = any',
      'pool_mode = transaction',
      'default_pool_size = 3',
      'unix_socket_dir =',
    ].join('\n'),
  );
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
  const child = spawn(program!, [...user, join(folder, 'pgbouncer.ini')], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  await new Promise<void>((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('process up')) resolve();
    });
    void ended.then(() => reject(new Error(`PgBouncer did not start: ${said}`)));
  });
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return {
    url: url.toString(),
    close: async () => {
      child.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
