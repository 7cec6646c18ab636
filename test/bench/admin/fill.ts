import { Client } from 'pg';
import { idAt } from '../queue/ours/besides';

/** How many deliveries of each status a table holds. */
export interface Filling {
  readonly succeeded: number;
  readonly pending: number;
  readonly failed: number;
}

const channels = ['bench', 'email', 'announcement', 'webhooks'];

/**
 * Fills a table as a week leaves it: four channels, three kinds of errors, a thousand destinations, every tenth pending or failed
 * delivery with an ordering key, pending ones due later; and an event for each failure and for what operators did.
 */
export async function fill(url: string, { succeeded, pending, failed }: Filling): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('SET synchronous_commit = off');
    await insert(client, 'succeeded', succeeded, { attempts: '1', settled: true });
    await insert(client, 'pending', pending, { attempts: '0', due: "now() + interval '1 day'" });
    await insert(client, 'failed', failed, {
      attempts: '5',
      settled: true,
      error: `(ARRAY['503', 'timeout', '410'])[1 + n % 3]`,
    });
    await client.query(
      `INSERT INTO deliveries.events (id, type, payload, actor, occurred_at, delivery_ids)
       SELECT event_id, 'order_updated', '{}', 'bench', created_at, ARRAY[id] FROM deliveries.deliveries WHERE status = 'failed'`,
    );
    await client.query(
      `INSERT INTO deliveries.events (id, type, payload, actor, delivery_id, audit, occurred_at)
       SELECT gen_random_uuid(), 'delivery_retried', '{"channel": "bench"}', 'operator ' || row_number() OVER () % 20, id, true, created_at
         FROM deliveries.deliveries WHERE status = 'failed'`,
    );
    await client.query('VACUUM ANALYZE');
    await client.query('CHECKPOINT');
  });
}

interface Columns {
  readonly attempts: string;
  readonly due?: string;
  readonly error?: string;
  readonly settled?: boolean;
}

async function insert(
  client: Client,
  status: string,
  count: number,
  { attempts, due = 'at', error = 'NULL', settled = false }: Columns,
): Promise<void> {
  const key = status === 'succeeded' ? 'NULL' : `CASE WHEN n % 10 = 0 THEN 'key ' || n % 1000 END`;
  await client.query(
    `INSERT INTO deliveries.deliveries
            (id, event_id, channel, destination, payload, status, ordering_key, ordinal, attempts, last_error, created_at, due_at, settled_at)
     SELECT ${idAt('at')}, gen_random_uuid(), ($2::text[])[1 + n % 4], 'customer ' || n % 1000,
            jsonb_build_object('seq', n, 'pad', repeat('x', 200)), '${status}', ${key}, CASE WHEN ${key} IS NOT NULL THEN n END,
            ${attempts}, ${error}, at, ${due}, ${settled ? "at + interval '1 second'" : 'NULL'}
       FROM generate_series(1, $1) n, LATERAL (SELECT now() - interval '7 days' * (n / $1::float8) AS at) created`,
    [count, channels],
  );
}

/** Adds deliveries that are due. */
export async function addDue(url: string, count: number): Promise<void> {
  await withClient(url, async (client) => {
    await client.query(
      `INSERT INTO deliveries.deliveries (id, event_id, channel, destination, payload, created_at, due_at)
       SELECT ${idAt('now()')}, gen_random_uuid(), 'bench', 'customer ' || n % 1000, jsonb_build_object('seq', n), now(), now()
         FROM generate_series(1, $1) n`,
      [count],
    );
    await client.query('CHECKPOINT');
  });
}

/** Whether none is due or being sent. */
export const isDrained = (client: Client): Promise<boolean> =>
  client
    .query(
      `SELECT FROM deliveries.deliveries
        WHERE channel = 'bench' AND status = 'pending' AND ordering_key IS NULL AND lane = '' AND due_at < now() + interval '1 hour' LIMIT 1`,
    )
    .then(({ rows }) => rows.length === 0);

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
