import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { parsePostmasterFile } from './postmaster-file';
import { servesFolder } from './processes';
import { EmbeddedPostgresError } from './unavailable';

const ANSWER_DEADLINE_MS = 20_000;

/**
 * The port of the server that already runs on this data folder, undefined when none does. One that is starting is waited
 * for, one that is stopping until it has gone.
 *
 * @throws EmbeddedPostgresError when a server has the folder and does not answer within 20 s
 */
export async function runningServer(dataDirectory: string): Promise<number | undefined> {
  const deadline = Date.now() + ANSWER_DEADLINE_MS;
  for (;;) {
    const text = await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => '');
    const file = parsePostmasterFile(text);
    if (!file || !servesFolder(file.pid, dataDirectory)) return undefined;
    if (file.status === 'ready' && file.port && (await answers(file.port, dataDirectory))) return file.port;
    if (Date.now() > deadline) {
      throw new EmbeddedPostgresError(
        `process ${file.pid} serves ${dataDirectory} and does not answer on port ${file.port ?? 'unknown'}`,
        'stop it, or choose another data folder',
      );
    }
    await delay(50);
  }
}

/** Whether the server on the port is the one of this folder. */
async function answers(port: number, dataDirectory: string): Promise<boolean> {
  try {
    return await withClient(port, 'postgres', async (client) => {
      const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
      return (await realpath(rows[0]?.data_directory ?? '/')) === (await realpath(dataDirectory));
    });
  } catch {
    return false;
  }
}

/** Makes the database unless it is there; another start may be doing the same. */
export async function ensureDatabase(port: number, name: string): Promise<void> {
  await withClient(port, 'postgres', async (client) => {
    const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (found.rowCount) return;
    await client.query(`CREATE DATABASE ${client.escapeIdentifier(name)}`).catch((error: { code?: string }) => {
      // 42P04 it exists, 23505 two sessions made it at the same moment.
      if (error.code !== '42P04' && error.code !== '23505') throw error;
    });
  });
}

async function withClient<T>(port: number, database: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    host: '127.0.0.1',
    port,
    user: 'postgres',
    database,
    ssl: false,
    connectionTimeoutMillis: 5000,
  });
  client.on('error', () => {}); // A server that stops under us: the query's own error tells.
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => {});
  }
}
