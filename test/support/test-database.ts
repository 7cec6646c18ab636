import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, type QueryResultRow } from 'pg';
import { errorCode } from '../../src/embedded-postgres/error-code';

/** A database of one's own. */
export interface TestDatabase {
  /** Connection string, with the rights of the run's administrator. */
  readonly url: string;
  readonly name: string;
  /** Runs one statement on a connection of its own that is opened with the first one. */
  query<Row extends QueryResultRow = Record<string, unknown>>(sql: string, params?: unknown[]): Promise<Row[]>;
  /** Disconnects everybody and removes the database. */
  drop(): Promise<void>;
}

/** The database that every test database is a copy of; globalSetup makes it anew for each run. */
export const TEMPLATE = 'nest_deliveries_template';

/**
 * Makes a database for one test file as a copy of the migrated template (about 20 ms with file_copy, 50 ms with wal_log).
 *
 * @param options.empty without any table, for tests of the migrations themselves; default false
 */
export async function createTestDatabase(options: { empty?: boolean } = {}): Promise<TestDatabase> {
  const adminUrl = process.env.TEST_PG_ADMIN_URL;
  if (!adminUrl)
    throw new Error('TEST_PG_ADMIN_URL is not set: test databases exist only under Jest, after its globalSetup.');
  const name = `t_${randomBytes(6).toString('hex')}`;
  await withAdmin(adminUrl, (admin) => copyTemplate(admin, name, options.empty ? 'template0' : TEMPLATE));
  const url = databaseUrl(adminUrl, name);
  let client: Promise<Client> | undefined;
  return {
    url,
    name,
    query: async <Row extends QueryResultRow>(sql: string, params?: unknown[]) => {
      const connected = await (client ??= connect(url));
      return (await connected.query<Row>(sql, params)).rows;
    },
    drop: async () => {
      await client?.then((connected) => connected.end()).catch(() => {});
      await withAdmin(adminUrl, (admin) => admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
    },
  };
}

/** The same address with another database. */
export function databaseUrl(adminUrl: string, name: string): string {
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return url.toString();
}

/** 55006: another copy of the template is under way in this moment, which is so for milliseconds. */
async function copyTemplate(admin: Client, name: string, template: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
      return;
    } catch (error) {
      if (errorCode(error) !== '55006' || attempt === 50) throw error;
      await delay(20 + Math.random() * 30);
    }
  }
}

async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  // Tests end backends and stop the server; the statement that hits it reports it.
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function withAdmin<T>(adminUrl: string, work: (admin: Client) => Promise<T>): Promise<T> {
  const admin = await connect(adminUrl);
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}
