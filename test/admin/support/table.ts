import type { DeliveriesOptions } from 'nest-deliveries';
import type { TestDatabase } from '../../support/test-database';
import { vacuum } from '../../support/vacuum';

/** Nobody sends, cleans up or listens: what is in the tables is what the test put there. */
export const quiet = { run: [], cleanUpInterval: false, listen: false } as const satisfies DeliveriesOptions;

/** SQL expressions over the row's number `n`. */
interface Rows {
  readonly count: number;
  readonly channel?: string;
  readonly status?: 'pending' | 'succeeded' | 'failed' | 'cancelled';
  readonly error?: string;
  readonly key?: string;
  readonly lane?: string;
  /** How long ago each was created, an interval. */
  readonly age?: string;
}

/** Inserts deliveries by hand; every hundredth goes to the same customer. */
export async function insertDeliveries(database: TestDatabase, rows: Rows): Promise<void> {
  const { count, channel = 'mail', status = 'succeeded', error = 'NULL', key = 'NULL', lane = "''" } = rows;
  const { age = "n * interval '1 second'" } = rows;
  await database.query(
    `INSERT INTO deliveries.deliveries
            (id, event_id, channel, destination, payload, status, ordering_key, ordinal, lane, due_at, created_at, settled_at, attempts, last_error)
     SELECT ${idAt(`clock_timestamp() - ${age}`)}, gen_random_uuid(), $2, 'customer ' || n % 100, '{}', $3, ${key},
            CASE WHEN ${key} IS NOT NULL THEN -n END, ${lane}, clock_timestamp() - ${age}, clock_timestamp() - ${age},
            CASE WHEN $3 <> 'pending' THEN clock_timestamp() - ${age} END, 1, ${error}
       FROM generate_series(1, $1::integer) n`,
    [count, channel, status],
  );
}

/** A UUID of version 7 that was made at an instant: in the place of its first 48 bits, the milliseconds since 1970. */
const idAt = (at: string): string =>
  `overlay(overlay(gen_random_uuid()::text PLACING '7' FROM 15) PLACING
     regexp_replace(lpad(to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0'), '(.{8})', '\\1-') FROM 1 FOR 13)::uuid`;

/** A table that is worth an index: two channels, some 48,000 deliveries, and what operators did. */
export async function fillTable(database: TestDatabase): Promise<void> {
  await insertDeliveries(database, { count: 30_000 });
  await insertDeliveries(database, { count: 4_000, channel: 'rare' });
  await insertDeliveries(database, { count: 2_000, key: "'key ' || n % 20" });
  await insertDeliveries(database, { count: 4_000, status: 'pending', error: "CASE WHEN n % 2 = 0 THEN '503' END" });
  await insertDeliveries(database, { count: 2_000, status: 'pending', key: "'key ' || n % 100" });
  await insertDeliveries(database, { count: 3, status: 'pending', channel: 'rare', age: "interval '9 days'" });
  await insertDeliveries(database, {
    count: 3_000,
    status: 'failed',
    error: "CASE WHEN n % 1000 = 1 THEN '418' ELSE '410' END",
    lane: "'lane ' || n % 50",
    age: "interval '2 hours' + n * interval '1 second'",
  });
  await insertDeliveries(database, { count: 3_000, status: 'cancelled', key: "'key ' || n % 100" });
  await database.query(
    `INSERT INTO deliveries.events (id, type, payload, actor, delivery_id, audit, occurred_at)
     SELECT gen_random_uuid(), 'delivery_retried', '{}', 'ops ' || n % 2000, gen_random_uuid(), true, clock_timestamp() - n * interval '1 s'
       FROM generate_series(1, 12000) n`,
  );
  await vacuum(database);
  await database.query('ANALYZE deliveries.events');
}
