import { setTimeout as sleep } from 'node:timers/promises';
import type { Peers } from './peers';
import { payload, type Contender, type Handle, type Worker } from './contender';
import { hostTransactions } from './host-transactions';

const queue = 'deliveries';

interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): void;
  start(): Promise<void>;
  stop(options: { graceful: boolean }): Promise<void>;
  createQueue(name: string, options: object): Promise<void>;
  insert(name: string, jobs: object[], options?: object): Promise<unknown>;
  send(name: string, data: object, options: object): Promise<unknown>;
  fetch(name: string, options: object): Promise<Job[]>;
  complete(name: string, ids: string[]): Promise<unknown>;
  work(name: string, options: object, handler: (jobs: Job[]) => Promise<unknown>): Promise<unknown>;
}

interface Job {
  id: string;
  data: { seq: number };
}

/**
 * Ordered work by hand, as its documentation has it: of a key one job is handed out at a time, so that a batch is rarely
 * full, and after one that is not full `work` waits for its next poll, half a second.
 */
function fetchLoops(boss: PgBoss, batchSize: number, handle: Handle): Worker {
  const stopped = new AbortController();
  const loop = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const jobs = await boss.fetch(queue, { batchSize });
      await Promise.all(jobs.map(async ({ data }) => handle(data.seq)));
      const ids = jobs.map(({ id }) => id);
      if (ids.length > 0) await boss.complete(queue, ids);
      else await sleep(5);
    }
  };
  const loops = Promise.all([loop(), loop()]);
  return {
    async stop() {
      stopped.abort();
      await loops;
      await boss.stop({ graceful: false });
    },
  };
}

const insertMany = (columns: string, values: string): string => `
  INSERT INTO pgboss.job (name, policy, data, ${columns})
  SELECT '${queue}', 'standard', jsonb_build_object('seq', n, 'type', 'order.updated', 'pad', repeat('x', 200)), ${values}
    FROM generate_series(1, $1) n`;

const ended = (state: string): string =>
  insertMany(
    'state, created_on, start_after, started_on, completed_on',
    `'${state}', ${Array.from({ length: 4 }, () => `now() - interval '6 days' + n * interval '0.1 s'`).join(', ')}`,
  );

/** pg-boss 12: batches of 1,000 and two pollers were the best of eight settings tried; `key_strict_fifo` for ordered work. */
export function pgboss({ load }: Peers, notify: boolean): Contender {
  const start = async (url: string): Promise<PgBoss> => {
    const { PgBoss: Class } = (await load('pg-boss')) as { PgBoss: new (options: object) => PgBoss };
    const options = { connectionString: url, max: 12, schedule: false, supervise: false, useListenNotify: notify };
    const boss = new Class(options);
    boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
    await boss.start();
    return boss;
  };
  return {
    async setUp(url, { ordered }) {
      const boss = await start(url);
      await boss.createQueue(queue, { policy: ordered ? 'key_strict_fifo' : 'standard', retryLimit: 5, notify });
      await boss.stop({ graceful: false });
    },

    async lists(url) {
      const boss = await start(url);
      return {
        record: (kinds) =>
          boss.insert(
            queue,
            kinds.map(({ n, seq, key }) => {
              if (key === undefined) return { data: payload(seq) };
              // One statement gives all its jobs one created_on, and ties are broken by the id: rising ids keep the order.
              const id = `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
              return { id, data: payload(seq), singletonKey: key };
            }),
          ),
        close: () => boss.stop({ graceful: false }),
      };
    },

    async work(url, { keys, batch = 1_000 }, handle) {
      const boss = await start(url);
      if (keys !== undefined) return fetchLoops(boss, Math.min(batch, keys), handle);
      const options = { localConcurrency: 2, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
      await boss.work(queue, { batchSize: batch, ...options, perJobResults: true }, async (jobs) => {
        await Promise.all(jobs.map(async ({ data }) => handle(data.seq)));
        return jobs.map(({ id }) => ({ id, status: 'completed' }));
      });
      return { stop: () => boss.stop({ graceful: false }) };
    },

    async isDrained(query) {
      const open = await query(
        `SELECT 1 FROM pgboss.job WHERE name = $1 AND state = 'active'
          UNION ALL (SELECT 1 FROM pgboss.job WHERE name = $1 AND state = 'created' AND NOT blocked AND start_after <= now() LIMIT 1) LIMIT 1`,
        [queue],
      );
      return open.length === 0;
    },

    besides: {
      finished: async (query, count) => void (await query(ended('completed'), [count])),
      failed: async (query, count) => void (await query(ended('failed'), [count])),
      scheduled: async (query, count) =>
        void (await query(
          insertMany('state, start_after', `'created', now() + interval '1 day' + n * interval '10 ms'`),
          [count],
        )),
    },

    async recorder(url, clients) {
      const boss = await start(url);
      const recorder = await hostTransactions(url, clients, async (client, n, deliveries) => {
        const db = { executeSql: (text: string, values: unknown[]) => client.query(text, values) };
        if (deliveries.length === 1) return boss.send(queue, payload(n), { db });
        return boss.insert(
          queue,
          deliveries.map((_, index) => ({ data: payload(n + index) })),
          { db },
        );
      });
      return {
        ...recorder,
        async close() {
          await recorder.close();
          await boss.stop({ graceful: false });
        },
      };
    },

    async idle(url, queues) {
      const boss = await start(url);
      for (let n = 0; n < queues; n++) {
        await boss.createQueue(`idle_${n}`, { notify });
        await boss.work(`idle_${n}`, { batchSize: 1_000 }, async () => []);
      }
      return { stop: () => boss.stop({ graceful: false }) };
    },
  };
}
