import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { processLives } from '../../src/embedded-postgres/processes';

/** Waits until something is so; fails with its name when it is not within 15 s. */
export async function until(what: string, fact: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 15_000;
  while (!(await fact())) {
    if (Date.now() > deadline) throw new Error(`Not within 15 s: ${what}`);
    await delay(20);
  }
}

/** Process id of the server of a data folder. */
export function serverPid(dataDirectory: string): number {
  return Number(readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

/** Waits until a server is no more: neither its process nor its port. */
export async function untilGone(server: { pid: number; port: number }): Promise<void> {
  await until(`process ${server.pid} has ended`, () => !processLives(server.pid));
  await until(`port ${server.port} is closed`, async () => !(await listens(server.port)));
}

export function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** Runs one statement on a connection of its own and returns the first column of the first row. */
export async function ask(url: string, sql: string): Promise<unknown> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<Record<string, unknown>>(sql);
    return Object.values(rows[0] ?? {})[0];
  } finally {
    await client.end();
  }
}
