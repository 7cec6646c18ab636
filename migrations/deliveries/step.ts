/** One change of the libraries' schema. Steps are only ever added: a released one never changes. */
export interface MigrationStep {
  /** Rises by one from step to step, from 1. */
  readonly version: number;
  /** Class name in TypeORM's own table: what it does and, as TypeORM wants it, 13 digits of milliseconds. */
  readonly name: string;
  /** The statements, in order, for a schema whose name is already quoted. */
  up(schema: string): readonly string[];
}
