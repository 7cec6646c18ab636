import type { TypeOrmModuleOptions } from '@nestjs/typeorm';
import { DataSource, QueryFailedError, type DataSourceOptions } from 'typeorm';
import { applicationMigrations } from '../migrations/application';

/** How the application reaches its database. Entities come from the modules that register them. */
export const databaseOptions = (url: string | undefined): TypeOrmModuleOptions & { type: 'postgres' } => ({
  type: 'postgres',
  url,
  autoLoadEntities: true,
  migrations: applicationMigrations,
  migrationsTableName: 'application_migrations',
  connectTimeoutMS: 5_000,
});

/** Connects and applies what is missing of the application's own migrations. */
export async function openDatabase(options: DataSourceOptions | undefined): Promise<DataSource> {
  const dataSource = await new DataSource(options!).initialize();
  try {
    await migrate(dataSource);
    return dataSource;
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
}

/** Under a lock, because TypeORM's `runMigrations` fails when several replicas start together on an empty database. */
async function migrate(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner();
  const key = `hashtextextended('migrations of the reference application', 0)`;
  try {
    await runner.query(`SELECT pg_advisory_lock(${key})`);
    await dataSource.runMigrations();
    await runner.query(`SELECT pg_advisory_unlock(${key})`);
  } finally {
    await runner.release();
  }
}

/** Whether a statement failed on this constraint. */
export const violates = (error: unknown, constraint: string): boolean =>
  error instanceof QueryFailedError && (error.driverError as { constraint?: unknown }).constraint === constraint;
