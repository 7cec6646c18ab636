import { Client } from 'pg';
import { until } from '../../faults/support/facts';
import type { TestDatabase } from '../../support/test-database';

/** A settle that has its snapshot and its row, and cannot go on. */
export interface SettleBlock {
  /** Resolves when the settle is under way. */
  readonly reached: Promise<void>;
  release(): Promise<void>;
}

const lock = 4_711;

/**
 * Holds the settle of one delivery up in the middle of its statement: a trigger of the test waits, before the row is written, for an
 * advisory lock that the test holds. The snapshot of the statement is older than that.
 */
export async function blockSettles(database: TestDatabase, id: string): Promise<SettleBlock> {
  await database.query(`CREATE OR REPLACE FUNCTION hold_settle() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(${lock}); RETURN NEW; END $$`);
  await database.query('DROP TRIGGER IF EXISTS hold_settle ON deliveries.deliveries');
  await database.query(
    `CREATE TRIGGER hold_settle BEFORE UPDATE ON deliveries.deliveries FOR EACH ROW
       WHEN (OLD.id = '${id}' AND NEW.status = 'succeeded') EXECUTE FUNCTION hold_settle()`,
  );
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock($1)', [lock]);
  let released: Promise<void> | undefined;
  return {
    reached: until('the settle is under way', async () => {
      const waiting = await holder.query(
        `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted`,
        [lock],
      );
      return waiting.rowCount === 1;
    }).then(() => undefined),
    release: () => (released ??= holder.end()),
  };
}
