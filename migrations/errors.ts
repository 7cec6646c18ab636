// Plain errors with codes: migrations stand alone, and so do their errors.

/** The name of a schema would need quoting. Thrown where it is given. */
export class SchemaNameError extends RangeError {
  override readonly name = 'SchemaNameError';
  readonly code = 'DELIVERIES_SCHEMA_NAME';
}

/** A migration of the libraries was to be reverted. Nothing was done. */
export class MigrationNotRevertedError extends Error {
  override readonly name = 'MigrationNotRevertedError';
  readonly code = 'DELIVERIES_MIGRATION_NOT_REVERTED';

  constructor(step: string, schema: string) {
    super(`${step} is not reverted: it would delete deliveries. Drop schema "${schema}" by hand if that is meant.`);
  }
}
