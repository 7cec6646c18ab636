import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { INestApplicationContext } from '@nestjs/common';
import { DeliveriesModule, DeliveryChannel, DeliveryRecorder, succeeded, type Delivery } from 'nest-deliveries';
import { DataSource } from 'typeorm';
import { inLanes, payload, type Contender, type WorkOptions } from './contender';

type Payload = ReturnType<typeof payload>;

let handle: (n: number) => void | Promise<void> = () => undefined;

@DeliveryChannel({ name: 'bench', maxAge: '7d' })
class BenchChannel {
  deliveries(): [] {
    return [];
  }

  async send(delivery: Delivery<Payload>) {
    await handle(delivery.payload.seq);
    return succeeded();
  }
}

@Module({})
class BenchModule {}

/** The module as a user would run it: a Nest application, the recorder, discovery, everything at its default. */
async function start(url: string, work: WorkOptions | undefined, poolSize = 8): Promise<INestApplicationContext> {
  const workers = work ? 1 : 0;
  return NestFactory.createApplicationContext(
    {
      module: BenchModule,
      imports: [
        TypeOrmModule.forRoot({ type: 'postgres', url, poolSize }),
        ScheduleModule.forRoot(),
        DeliveriesModule.forRoot({ workers, concurrency: work?.concurrency ?? 500 }),
      ],
      providers: [BenchChannel],
    },
    { logger: ['error', 'warn'] },
  );
}

export const ours: Contender = {
  async setUp(url) {
    const app = await start(url, undefined);
    await app.close();
  },

  async fill(url, count, keyOf) {
    const app = await start(url, undefined);
    const recorder = app.get(DeliveryRecorder);
    await inLanes(2, Math.ceil(count / 1_000), async (chunk) => {
      const drafts = Array.from({ length: Math.min(1_000, count - chunk * 1_000) }, (_, index) => {
        const n = chunk * 1_000 + index;
        const draft = { destination: `destination ${n % 50}`, payload: payload(n) };
        return keyOf ? { ...draft, orderingKey: keyOf(n) } : draft;
      });
      await recorder.transaction((tx) => recorder.enqueue(tx, BenchChannel, drafts));
    });
    await app.close();
  },

  async work(url, options, onDelivery) {
    handle = onDelivery;
    const app = await start(url, options);
    return { stop: () => app.close() };
  },

  async isDrained(query) {
    const rows = await query(
      `SELECT 1 FROM deliveries.deliveries WHERE channel = 'bench' AND status = 'pending' AND ordering_key IS NULL AND due_at < now() + interval '2 min'
        UNION ALL
       SELECT 1 FROM deliveries.deliveries d
        WHERE channel = 'bench' AND ordering_key LIKE 'key-%' AND ordering_key IS NOT NULL AND (status IN ('pending', 'failed') OR lease_expires_at IS NOT NULL)
        LIMIT 1`,
    );
    return rows.length === 0;
  },

  async fillHistory(query, count) {
    await query(insertMany(`'succeeded', now() - interval '6 days', now() - interval '6 days', 1`), [count]);
  },

  async fillScheduled(query, count) {
    await query(insertMany(`'pending', now() + interval '1 day' + n * interval '10 ms', NULL, 0`), [count]);
  },

  async fillStuck(query, keys, behind) {
    const columns =
      'id, event_id, channel, destination, payload, status, ordering_key, ordinal, due_at, created_at, settled_at';
    await query(
      `INSERT INTO deliveries.deliveries (${columns})
       SELECT ${idAt('now()')}, gen_random_uuid(), 'bench', 'd', '{"seq": 0}', CASE WHEN b = 0 THEN 'failed' ELSE 'pending' END,
              'a-stuck-' || k, b, now(), now(), CASE WHEN b = 0 THEN now() END
         FROM generate_series(1, $1) k, generate_series(0, $2) b`,
      [keys, behind],
    );
  },

  async recordEach(url, clients, count) {
    const app = await start(url, undefined, clients);
    const recorder = app.get(DeliveryRecorder);
    await inLanes(clients, count, (n) =>
      recorder.transaction(async (tx) => {
        await tx.query('INSERT INTO business (note) VALUES ($1)', [`note ${n}`]);
        await recorder.enqueue(tx, BenchChannel, { destination: 'd', payload: payload(n) });
      }),
    );
    await app.close();
  },

  async insertEach(url, clients, count) {
    const app = await start(url, undefined, clients);
    const dataSource = app.get(DataSource);
    await inLanes(clients, count, (n) =>
      dataSource.transaction('READ COMMITTED', async (tx) => {
        await tx.query('INSERT INTO business (note) VALUES ($1)', [`note ${n}`]);
        await tx.query('INSERT INTO plain (id, payload) VALUES (gen_random_uuid(), $1::jsonb)', [
          JSON.stringify(payload(n)),
        ]);
      }),
    );
    await app.close();
  },
};

/** A UUID version 7 made in SQL, so that filled tables have the index locality of recorded ones. */
const idAt = (time: string): string =>
  `(lpad(to_hex((extract(epoch from ${time}) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid`;

const insertMany = (values: string): string => `
  INSERT INTO deliveries.deliveries (id, event_id, channel, destination, payload, created_at, status, due_at, settled_at, attempts)
  SELECT ${idAt("now() - interval '6 days' + n * interval '0.1 s'")}, gen_random_uuid(), 'bench', 'd',
         jsonb_build_object('seq', n, 'type', 'order.updated', 'pad', repeat('x', 200)), now() - interval '6 days', ${values}
    FROM generate_series(1, $1) n`;
