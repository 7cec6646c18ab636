import type { TestDatabase } from '../../support/test-database';

export interface Crowd {
  readonly keys: number;
  /** The keys are this and a number of six digits. */
  readonly prefix: string;
  /** Deliveries of each key. Default 1. */
  readonly each?: number;
  /** Of the first of each key; the others are pending. Default `pending`. */
  readonly status?: 'pending' | 'failed';
  /** From now until they are due. Default: they are due. */
  readonly due?: string;
  readonly channel?: string;
}

/** Inserts many ordered deliveries at once, past the recorder: key by key in the index, mixed in the table. */
export async function insertKeys(database: Pick<TestDatabase, 'query'>, crowd: Crowd): Promise<void> {
  const { keys, prefix, each = 1, status = 'pending', due = '0', channel = 'parcels' } = crowd;
  await database.query(
    `INSERT INTO deliveries.deliveries (id, event_id, channel, destination, payload, status, ordering_key, ordinal, due_at, created_at)
     SELECT gen_random_uuid(), gen_random_uuid(), $1, 'test', jsonb_build_object('n', ordinal),
            CASE WHEN ordinal = 1 THEN $5 ELSE 'pending' END, $2 || to_char(key, 'FM000000'), ordinal,
            clock_timestamp() + $6::interval, clock_timestamp()
       FROM generate_series(1, $4::integer) ordinal, generate_series(1, $3::integer) key`,
    [channel, prefix, keys, each, status, due],
  );
}

/** Inserts many deliveries without a key. */
export async function insertUnordered(
  database: Pick<TestDatabase, 'query'>,
  count: number,
  state: {
    readonly status?: 'pending' | 'succeeded';
    readonly due?: string;
    /** SQL with the number n, for example a text. */
    readonly lane?: string;
  } = {},
): Promise<void> {
  await database.query(
    `INSERT INTO deliveries.deliveries (id, event_id, channel, destination, payload, status, due_at, created_at, lane)
     SELECT gen_random_uuid(), gen_random_uuid(), 'parcels', 'test', jsonb_build_object('n', n), $2,
            clock_timestamp() + $3::interval, clock_timestamp(), ${state.lane ?? `''`}
       FROM generate_series(1, $1::integer) n`,
    [count, state.status ?? 'pending', state.due ?? '0'],
  );
}
