import { SchemaNameError } from '../errors';
import { currentVersion, migrationSteps } from './steps';
import type { MigrationStep } from './step';

/** Runs one statement on the connection whose transaction the migration belongs to, and gives its rows. */
export type Execute = (sql: string, parameters?: unknown[]) => Promise<Record<string, unknown>[]>;

/** The default of the option `schema`. */
export const defaultSchema = 'deliveries';

/**
 * A schema's name, quoted for SQL.
 * @throws SchemaNameError for a name that is not lower-case letters, digits and underscores, at most 63 of them: such a name
 *   means the same quoted and unquoted, so that people can type it
 */
export function quoteSchema(schema: string): string {
  if (typeof schema !== 'string' || !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    const got = typeof schema === 'string' ? JSON.stringify(schema) : `something of type ${typeof schema}`;
    throw new SchemaNameError(
      `schema must be 1 to 63 lower-case letters, digits and underscores, not starting with a digit; got ${got}. Choose such a name.`,
    );
  }
  return `"${schema}"`;
}

/**
 * Brings the schema to `upTo` inside the caller's transaction and returns the steps that were missing.
 *
 * Whoever comes first takes an advisory lock that lasts until its transaction ends; the others wait for it, read the
 * version only then, and find nothing left to do. A killed process takes its lock and its half-done step with it.
 */
export async function applyMigrations(
  execute: Execute,
  schema: string,
  upTo = currentVersion,
): Promise<readonly MigrationStep[]> {
  const quoted = quoteSchema(schema);
  await execute(lockStatement(schema));
  const version = await appliedVersion(execute, schema);
  if (version === undefined) for (const statement of prologue(quoted, schema)) await execute(statement);
  const missing = migrationSteps.filter((step) => step.version > (version ?? 0) && step.version <= upTo);
  for (const step of missing) {
    for (const statement of step.up(quoted)) await execute(statement);
    await execute(`INSERT INTO ${quoted}.schema_migrations (version, name) VALUES ($1, $2)`, [step.version, step.name]);
  }
  return missing;
}

/** The newest applied version; 0 when only the version table exists, undefined when that does not exist either. */
export async function appliedVersion(execute: Execute, schema: string): Promise<number | undefined> {
  const table = `${quoteSchema(schema)}.schema_migrations`;
  const [found] = await execute('SELECT to_regclass($1) IS NOT NULL AS found', [table]);
  if (found?.found !== true) return undefined;
  const [row] = await execute(`SELECT coalesce(max(version), 0)::integer AS version FROM ${table}`);
  return Number(row?.version ?? 0);
}

/** All of it as a script, for whoever applies changes by hand; every statement ends with a semicolon. */
export function migrationScript(schema: string, from = 0): string {
  const quoted = quoteSchema(schema);
  const steps = migrationSteps.filter((step) => step.version > from);
  if (steps.length === 0) return '';
  const statements = [
    ...(from === 0 ? prologue(quoted, schema) : []),
    ...steps.flatMap((step) => [
      ...step.up(quoted),
      `INSERT INTO ${quoted}.schema_migrations (version, name) VALUES (${step.version}, '${step.name}')`,
    ]),
  ];
  return ['BEGIN', lockStatement(schema), ...statements, 'COMMIT'].map((statement) => `${statement};\n`).join('\n');
}

const lockStatement = (schema: string): string =>
  `SELECT pg_advisory_xact_lock(hashtextextended('nest-deliveries migrations of ${schema}', 0))`;

// CREATE SCHEMA asks for the right to create schemas even when the schema is there already; a role that was given a
// ready schema has no such right, so the existing one is looked for first.
function prologue(quoted: string, schema: string): string[] {
  return [
    `DO $$ BEGIN IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA ${quoted}; END IF; END $$`,
    `CREATE TABLE ${quoted}.schema_migrations (
  version integer PRIMARY KEY,
  name text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
  ];
}
