// Jest gives globalSetup no moduleNameMapper: relative imports without an extension only.
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { deliveriesMigrations } from '../../migrations';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/embedded-postgres';
import { unpackChromium } from '../browser/support/unpack-chromium';
import { folderInMemory } from './folder-in-memory';
import { databaseUrl, TEMPLATE } from './test-database';

declare global {
  var testServer: EmbeddedPostgres | undefined;
}

/**
 * One server for the whole run: `TEST_DATABASE_URL` (a superuser's or one with CREATEDB) or an embedded one without
 * durability. The workers get its address as `TEST_PG_ADMIN_URL`, and a Chromium as `TEST_CHROMIUM`.
 */
export default async function globalSetup(): Promise<void> {
  const own = process.env.TEST_DATABASE_URL;
  globalThis.testServer = own ? undefined : await startServer();
  const adminUrl = own ?? globalThis.testServer?.url ?? '';
  process.env.TEST_PG_ADMIN_URL = adminUrl;
  await Promise.all([prepareTemplate(adminUrl), unpackChromium()]);
}

/** In memory, where there is enough; what tests start themselves goes where it always goes. */
async function startServer(): Promise<EmbeddedPostgres> {
  const settings = { max_connections: '300' };
  const folder = folderInMemory();
  if (folder === undefined) return await startEmbeddedPostgres({ settings });
  const { TMPDIR } = process.env;
  process.env.TMPDIR = folder;
  try {
    return await startEmbeddedPostgres({ settings });
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  }
}

/** Makes the template anew. Migrations of the libraries and of the application are run here, in the template. */
async function prepareTemplate(adminUrl: string): Promise<void> {
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  try {
    await admin.query(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${TEMPLATE} TEMPLATE template0`);
  } finally {
    await admin.end();
  }
  const dataSource = new DataSource({
    type: 'postgres',
    url: databaseUrl(adminUrl, TEMPLATE),
    migrations: deliveriesMigrations(),
  });
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
}
