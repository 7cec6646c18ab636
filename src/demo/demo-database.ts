import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../embedded-postgres';

/** A database that nobody else uses. */
export interface DemoDatabase {
  readonly url: string;
  /** Where it is, in words. */
  readonly where: string;
  close(): Promise<void>;
}

/** A new database on the server of `DATABASE_URL`, so that nothing of yours is touched; otherwise a server of our own. */
export async function openDemoDatabase(serverUrl: string | undefined): Promise<DemoDatabase> {
  if (!serverUrl) {
    const server = await startEmbeddedPostgres();
    return { url: server.url, where: 'a PostgreSQL of its own, in a temporary folder', close: () => server.stop() };
  }
  const name = `nest_deliveries_demo_${randomBytes(4).toString('hex')}`;
  await run(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.toString(),
    where: 'a database of its own on the server of DATABASE_URL',
    close: () => run(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function run(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end();
  }
}
