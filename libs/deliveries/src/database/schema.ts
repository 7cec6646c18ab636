import type { DataSource, QueryRunner } from 'typeorm';
import {
  applyMigrations,
  appliedVersion,
  currentVersion,
  type Execute,
  type MigrationStep,
} from 'nest-deliveries/migrations';
import { SchemaBehindError } from '../errors';

/** Where the schema stands: `applied` is undefined when there are no tables at all. */
export interface SchemaStatus {
  readonly applied: number | undefined;
  readonly needed: number;
}

/** Applies what is missing, in one transaction, under the lock that lets one process at a time do so. */
export async function migrateSchema(dataSource: DataSource, schema: string): Promise<readonly MigrationStep[]> {
  return dataSource.transaction('READ COMMITTED', (tx) => applyMigrations(executeOn(tx.queryRunner!), schema));
}

/** Reads the version; changes nothing. */
export async function schemaStatus(dataSource: DataSource, schema: string): Promise<SchemaStatus> {
  const runner = dataSource.createQueryRunner();
  try {
    return { applied: await appliedVersion(executeOn(runner), schema), needed: currentVersion };
  } finally {
    await runner.release();
  }
}

/** @throws SchemaBehindError that names the ways to bring the schema up to date */
export async function requireCurrentSchema(dataSource: DataSource, schema: string): Promise<void> {
  const { applied, needed } = await schemaStatus(dataSource, schema);
  if ((applied ?? 0) >= needed) return;
  const found = applied === undefined ? 'has no tables of nest-deliveries' : `is at version ${applied}`;
  throw new SchemaBehindError(
    `Schema "${schema}" ${found}, and this release needs version ${needed}. Run the command "deliveries migrate", or add ` +
      'deliveriesMigrations({ schema }) to the migrations of your DataSource, or set the option migrate: true.',
  );
}

const executeOn =
  (runner: QueryRunner): Execute =>
  async (sql, parameters) =>
    (await runner.query(sql, parameters, true)).records as Record<string, unknown>[];
