import type { TestDatabase } from '../support/test-database';

/** Rows as they are after a while: each field is an SQL expression over the row's number `n`, from 1. */
export interface RowsByHand {
  readonly count: number;
  readonly channel?: string;
  readonly status?: string;
  /** Age of `settled_at`, an interval; null for a pending one. */
  readonly settledAgo?: string | null;
  readonly key?: string;
  readonly ordinal?: string;
  readonly recipient?: string;
  readonly error?: string;
}

/** Writes deliveries by hand, each with an event of its own, in one statement. */
export async function insertRows(database: TestDatabase, rows: RowsByHand): Promise<void> {
  const { count, channel = 'mail', status = 'succeeded', settledAgo = "interval '0'" } = rows;
  const { key = 'NULL', ordinal = 'n', recipient = 'NULL', error = 'NULL' } = rows;
  await database.query(
    `WITH new AS (
       SELECT n, gen_random_uuid() AS id, gen_random_uuid() AS event_id, ${key} AS ordering_key FROM generate_series(1, $1::integer) n
     ), event AS (
       INSERT INTO deliveries.events (id, type, payload, delivery_ids, occurred_at)
       SELECT event_id, 'by_hand', '{}', ARRAY[id], clock_timestamp() - interval '40 days' FROM new
     ), ordering AS (
       INSERT INTO deliveries.delivery_orderings (channel, ordering_key, last_ordinal, last_taken, last_recorded_at)
       SELECT $2, ordering_key, max(${ordinal}), 1, clock_timestamp() FROM new WHERE ordering_key IS NOT NULL GROUP BY ordering_key
       ON CONFLICT (channel, ordering_key) DO UPDATE SET last_ordinal = EXCLUDED.last_ordinal
     )
     INSERT INTO deliveries.deliveries
            (id, event_id, channel, destination, recipient, payload, status, ordering_key, ordinal, due_at, created_at, settled_at,
             attempts, last_error)
     SELECT id, event_id, $2, 'by hand', ${recipient}, '{}', $3, ordering_key,
            CASE WHEN ordering_key IS NOT NULL THEN ${ordinal} END,
            clock_timestamp() - interval '40 days', clock_timestamp() - interval '40 days',
            ${settledAgo === null ? 'NULL' : `clock_timestamp() - ${settledAgo}`}, 1, ${error}
       FROM new`,
    [count, channel, status],
  );
}

/** How many rows a table has, or those of it for which `where` holds. */
export async function countOf(database: TestDatabase, table: string, where = 'true'): Promise<number> {
  const [row] = await database.query<{ n: number }>(
    `SELECT count(*)::integer AS n FROM deliveries.${table} WHERE ${where}`,
  );
  return row!.n;
}

/** Deadlocks in this database so far. Sessions report theirs when they end: close the applications first. */
export async function deadlocks(database: TestDatabase): Promise<number> {
  const [row] = await database.query<{ deadlocks: number }>(
    'SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()',
  );
  return row!.deadlocks;
}
