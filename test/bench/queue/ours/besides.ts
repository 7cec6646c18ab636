import type { Contender } from '../contender';

/** Rows that lie beside a backlog, written as if they had come there over time: UUID v7 ids that follow their creation. */
export const besides: Contender['besides'] = {
  finished: async (query, count) =>
    void (await query(insertMany(`'succeeded', now() - interval '6 days', now() - interval '6 days', 1`), [count])),

  scheduled: async (query, count) =>
    void (await query(insertMany(`'pending', now() + interval '1 day' + n * interval '10 ms', NULL, 0`), [count])),

  failed: async (query, count) =>
    void (await query(insertMany(`'failed', now() - interval '6 days', now() - interval '6 days', 5`), [count])),

  stuck: async (query, keys) => {
    const columns =
      'id, event_id, channel, destination, payload, status, ordering_key, ordinal, due_at, created_at, settled_at';
    await query(
      `INSERT INTO deliveries.deliveries (${columns})
       SELECT ${idAt('now()')}, gen_random_uuid(), 'bench', 'd', '{"seq": 0}', CASE WHEN b = 0 THEN 'failed' ELSE 'pending' END,
              'a-stuck-' || k, b, now(), now(), CASE WHEN b = 0 THEN now() END
         FROM generate_series(1, $1) k, generate_series(0, 100) b`,
      [keys],
    );
  },
};

/** A UUID version 7 made in SQL, so that filled tables have the index locality of recorded ones. */
export const idAt = (time: string): string =>
  `(lpad(to_hex((extract(epoch from ${time}) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid`;

const insertMany = (values: string): string => `
  INSERT INTO deliveries.deliveries (id, event_id, channel, destination, payload, created_at, status, due_at, settled_at, attempts)
  SELECT ${idAt("now() - interval '6 days' + n * interval '0.1 s'")}, gen_random_uuid(), 'bench', 'd',
         jsonb_build_object('seq', n, 'type', 'order.updated', 'pad', repeat('x', 200)), now() - interval '6 days', ${values}
    FROM generate_series(1, $1) n`;
