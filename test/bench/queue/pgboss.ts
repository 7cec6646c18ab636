import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'pg';
import type { Peers } from './peers';
import { inLanes, payload, type Contender, type Worker } from './contender';

const queue = 'deliveries';

interface PgBoss {
  on(event: 'error', listener: (error: Error) => void): void;
  start(): Promise<void>;
  stop(options: { graceful: boolean }): Promise<void>;
  createQueue(name: string, options: object): Promise<void>;
  insert(name: string, jobs: object[]): Promise<unknown>;
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
function fetchLoops(boss: PgBoss, batchSize: number, handle: (n: number) => void | Promise<void>): Worker {
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

/** pg-boss 12: batches of 1,000 and two pollers were the best of eight settings tried; `key_strict_fifo` for ordered work. */
export function pgboss({ load }: Peers): Contender {
  const start = async (url: string): Promise<PgBoss> => {
    const { PgBoss: Class } = (await load('pg-boss')) as { PgBoss: new (options: object) => PgBoss };
    const boss = new Class({ connectionString: url, max: 12, schedule: false, supervise: false });
    boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
    await boss.start();
    return boss;
  };
  return {
    async setUp(url, { ordered }) {
      const boss = await start(url);
      await boss.createQueue(queue, { policy: ordered ? 'key_strict_fifo' : 'standard', retryLimit: 5 });
      await boss.stop({ graceful: false });
    },

    async fill(url, count, keyOf) {
      const boss = await start(url);
      await inLanes(keyOf ? 1 : 2, Math.ceil(count / 1_000), async (chunk) => {
        const jobs = Array.from({ length: Math.min(1_000, count - chunk * 1_000) }, (_, index) => {
          const n = chunk * 1_000 + index;
          // One statement gives all its jobs one created_on, and ties are broken by the id: rising ids keep the order.
          const id = `00000000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`;
          return keyOf ? { id, data: payload(n), singletonKey: keyOf(n) } : { data: payload(n) };
        });
        await boss.insert(queue, jobs);
      });
      await boss.stop({ graceful: false });
    },

    async work(url, { keys }, handle) {
      const boss = await start(url);
      if (keys !== undefined) return fetchLoops(boss, Math.min(1_000, keys), handle);
      const options = { batchSize: 1_000, localConcurrency: 2, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
      await boss.work(queue, { ...options, perJobResults: true }, async (jobs) => {
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

    async recordEach(url, clients, count) {
      const boss = await start(url);
      const pool = new Pool({ connectionString: url, max: clients });
      const connections = await Promise.all(Array.from({ length: clients }, () => pool.connect()));
      await inLanes(clients, count, async (n, lane) => {
        const client = connections[lane]!;
        await client.query('BEGIN');
        await client.query({
          name: 'business',
          text: 'INSERT INTO business (note) VALUES ($1)',
          values: [`note ${n}`],
        });
        const db = { executeSql: (text: string, values: unknown[]) => client.query(text, values) };
        await boss.send(queue, payload(n), { db });
        await client.query('COMMIT');
      });
      for (const client of connections) client.release();
      await pool.end();
      await boss.stop({ graceful: false });
    },
  };
}
