import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync, chmodSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPgBouncer, type PgBouncerProgram } from './find-pgbouncer';

export interface PgBouncer {
  readonly url: string;
  close(): Promise<void>;
}

/** Declares a test that needs PgBouncer. Where there is none, and none could be fetched, it is skipped, and says so aloud. */
export function withPgBouncer(
  name: string,
  play: (program: PgBouncerProgram) => Promise<void>,
  timeout?: number,
): void {
  const found = findPgBouncer();
  if ('missing' in found) {
    process.stderr.write(`\nSKIPPED, since there is no PgBouncer (${found.missing}): ${name}\n\n`);
    test.skip(name, () => undefined);
    return;
  }
  test(
    name,
    async () => {
      try {
        await play(found);
      } finally {
        if (found.folder !== undefined) rmSync(found.folder, { recursive: true, force: true });
      }
    },
    timeout,
  );
}

/** Starts PgBouncer in transaction mode, with fewer connections to the server than it takes from clients. */
export async function startPgBouncer(
  { program, libraries }: PgBouncerProgram,
  databaseUrl: string,
): Promise<PgBouncer> {
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
  const child = spawn(program, [...user, join(folder, 'pgbouncer.ini')], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) },
  });
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
