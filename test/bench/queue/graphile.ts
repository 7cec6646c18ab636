import { Pool } from 'pg';
import type { Peers } from './peers';
import { inLanes, payload, type Contender } from './contender';

const task = 'deliver';

interface Graphile {
  run: (options: object) => Promise<{ stop(): Promise<void>; promise: Promise<void> }>;
  runMigrations: (options: object) => Promise<void>;
  makeWorkerUtils: (
    options: object,
  ) => Promise<{ addJobs(jobs: object[]): Promise<unknown>; release(): Promise<void> }>;
  Logger: new (factory: () => (level: string, message: string) => void) => object;
}

/**
 * graphile-worker 0.18: 24 jobs, a local queue of 500 and batched completion were the best of seven settings tried; without
 * the local queue where no batching is possible. Named queues for ordered work.
 */
export function graphile({ load }: Peers, localQueue: boolean): Contender {
  const lib = async (): Promise<Graphile & { logger: object }> => {
    const loaded = (await load('graphile-worker')) as Graphile;
    const logger = new loaded.Logger(() => (level, message) => {
      if (level === 'error') process.stderr.write(`graphile-worker: ${message}\n`);
    });
    return { ...loaded, logger };
  };
  return {
    async setUp(url) {
      const { runMigrations, logger } = await lib();
      await runMigrations({ connectionString: url, logger });
    },

    async fill(url, count, keyOf) {
      const { makeWorkerUtils, logger } = await lib();
      const pool = new Pool({ connectionString: url, max: 2 });
      const utils = await makeWorkerUtils({ pgPool: pool, logger });
      const began = Date.now() - 3_600_000;
      await inLanes(keyOf ? 1 : 2, Math.ceil(count / 1_000), async (chunk) => {
        const jobs = Array.from({ length: Math.min(1_000, count - chunk * 1_000) }, (_, index) => {
          const n = chunk * 1_000 + index;
          const job = { identifier: task, payload: payload(n) };
          // Equal times have no tie-break: each gets its own.
          return keyOf ? { ...job, queueName: keyOf(n), runAt: new Date(began + n) } : job;
        });
        await utils.addJobs(jobs);
      });
      await utils.release();
      await pool.end();
    },

    async work(url, { concurrency }, handle) {
      const { run, logger } = await lib();
      const concurrentJobs = concurrency ?? 24;
      const batching = localQueue ? { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } : {};
      const runner = await run({
        preset: {
          worker: {
            connectionString: url,
            maxPoolSize: concurrentJobs + 2,
            concurrentJobs,
            pollInterval: 2_000,
            ...batching,
          },
        },
        logger,
        noHandleSignals: true,
        taskList: { [task]: async (data: { seq: number }) => handle(data.seq) },
      });
      runner.promise.catch(() => undefined);
      return { stop: () => runner.stop().catch(() => undefined) };
    },

    async isDrained(query) {
      const open = await query(
        'SELECT 1 FROM graphile_worker._private_jobs WHERE attempts < max_attempts AND run_at <= now() LIMIT 1',
      );
      return open.length === 0;
    },

    async recordEach(url, clients, count) {
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
        const text = 'SELECT 1 FROM graphile_worker.add_job($1, $2::json)';
        await client.query({ name: 'add', text, values: [task, JSON.stringify(payload(n))] });
        await client.query('COMMIT');
      });
      for (const client of connections) client.release();
      await pool.end();
    },
  };
}
