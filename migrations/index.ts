import type { MigrationInterface, QueryRunner } from 'typeorm';
import { applyMigrations, defaultSchema, quoteSchema } from './deliveries/apply';
import { migrationSteps } from './deliveries/steps';
import type { MigrationStep } from './deliveries/step';
import { MigrationNotRevertedError } from './errors';

export { applyMigrations, appliedVersion, defaultSchema, migrationScript, quoteSchema } from './deliveries/apply';
export type { Execute } from './deliveries/apply';
export { currentVersion, migrationSteps } from './deliveries/steps';
export type { MigrationStep } from './deliveries/step';
export { MigrationNotRevertedError, SchemaNameError } from './errors';

/**
 * The libraries' migrations for a host's own `DataSource`: `migrations: [...deliveriesMigrations(), ...yours]`.
 *
 * The version is kept inside the schema as well, so it does not matter whether the host, the module at start or the
 * command applied a step: each is applied once.
 *
 * @param options.schema the schema of the tables, default `deliveries`
 * @throws SchemaNameError for a schema name that would need quoting
 */
export function deliveriesMigrations(options: { schema?: string } = {}): (new () => MigrationInterface)[] {
  const schema = options.schema ?? defaultSchema;
  quoteSchema(schema);
  return migrationSteps.map((step) => migrationClass(step, schema));
}

function migrationClass(step: MigrationStep, schema: string): new () => MigrationInterface {
  return class implements MigrationInterface {
    readonly name = step.name;

    async up(runner: QueryRunner): Promise<void> {
      const apply = (): Promise<unknown> =>
        applyMigrations(
          async (sql, parameters) => (await runner.query(sql, parameters, true)).records,
          schema,
          step.version,
        );
      if (runner.isTransactionActive) await apply();
      // Not a default of REPEATABLE READ: the version read after the wait for the lock would be the one from before it.
      else await runner.manager.transaction('READ COMMITTED', apply);
    }

    /** The queue's rows are messages that were promised: nothing drops them on the way back to an older version. */
    down(): Promise<void> {
      return Promise.reject(new MigrationNotRevertedError(step.name, schema));
    }
  };
}
