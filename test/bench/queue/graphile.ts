import { Pool } from 'pg';
import type { Peers } from './peers';
import { payload, type Contender, type Handle, type WorkOptions, type Worker } from './contender';
import { hostTransactions } from './host-transactions';

const task = 'deliver';

interface Graphile {
  run: (options: object) => Promise<{ stop(): Promise<void>; promise: Promise<void> }>;
  runMigrations: (options: object) => Promise<void>;
  makeWorkerUtils: (
    options: object,
  ) => Promise<{ addJobs(jobs: object[]): Promise<unknown>; release(): Promise<void> }>;
  Logger: new (factory: () => (level: string, message: string) => void) => object;
}

/** Finished jobs are deleted there, so that what lies beside a backlog can only have failed or be scheduled. */
const insertMany = (columns: string, values: string): string => `
  INSERT INTO graphile_worker._private_jobs (task_id, payload, ${columns})
  SELECT (SELECT id FROM graphile_worker._private_tasks WHERE identifier = '${task}'),
         json_build_object('seq', n, 'type', 'order.updated', 'pad', repeat('x', 200)), ${values}
    FROM generate_series(1, $1) n`;

const failedRows = insertMany('attempts, max_attempts, run_at', `25, 25, now() - interval '6 days'`);

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
  const openUtils = async (url: string) => {
    const { makeWorkerUtils, logger } = await lib();
    const pool = new Pool({ connectionString: url, max: 2 });
    const report = (error: Error): void => void process.stderr.write(`graphile-worker: ${error.message}\n`);
    pool.on('error', report).on('connect', (client) => client.on('error', report));
    const utils = await makeWorkerUtils({ pgPool: pool, logger });
    return {
      addJobs: (jobs: object[]) => utils.addJobs(jobs),
      async close() {
        await utils.release();
        await pool.end();
      },
    };
  };
  const run = async (url: string, tasks: readonly string[], options: WorkOptions, handle: Handle): Promise<Worker> => {
    const { run: start, logger } = await lib();
    const concurrentJobs = options.concurrency ?? 24;
    const batching = { localQueue: { size: options.batch ?? 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
    const runner = await start({
      preset: {
        worker: {
          connectionString: url,
          maxPoolSize: concurrentJobs + 2,
          concurrentJobs,
          pollInterval: 2_000,
          ...(localQueue ? batching : {}),
        },
      },
      logger,
      noHandleSignals: true,
      taskList: Object.fromEntries(
        tasks.map((name) => [name, async (data: { seq: number }): Promise<void> => handle(data.seq)]),
      ),
    });
    runner.promise.catch(() => undefined);
    return { stop: () => runner.stop().catch(() => undefined) };
  };
  return {
    async setUp(url) {
      const { runMigrations, logger } = await lib();
      await runMigrations({ connectionString: url, logger });
      // Makes the task's row, which whatever is filled in by hand refers to.
      const later = new Date(Date.now() + 30 * 86_400_000);
      const utils = await openUtils(url);
      await utils.addJobs([{ identifier: task, payload: payload(0), runAt: later }]);
      await utils.close();
    },

    async lists(url) {
      const utils = await openUtils(url);
      const began = Date.now() - 3_600_000;
      return {
        record: (kinds) =>
          utils.addJobs(
            kinds.map(({ n, seq, key }) => {
              const job = { identifier: task, payload: payload(seq) };
              // Equal times have no tie-break: each gets its own.
              return key === undefined ? job : { ...job, queueName: key, runAt: new Date(began + n) };
            }),
          ),
        close: () => utils.close(),
      };
    },

    work: (url, options, handle) => run(url, [task], options, handle),

    async isDrained(query) {
      const open = await query(
        'SELECT 1 FROM graphile_worker._private_jobs WHERE attempts < max_attempts AND run_at <= now() LIMIT 1',
      );
      return open.length === 0;
    },

    besides: {
      finished: async (query, count) => void (await query(failedRows, [count])),
      failed: async (query, count) => void (await query(failedRows, [count])),
      scheduled: async (query, count) =>
        void (await query(insertMany('run_at', `now() + interval '1 day' + n * interval '10 ms'`), [count])),
    },

    recorder: (url, clients) =>
      hostTransactions(url, clients, async (client, n, deliveries) => {
        const [name, text] =
          deliveries.length === 1
            ? ['add', 'SELECT 1 FROM graphile_worker.add_job($1, payload => $2::json, queue_name => $3)']
            : [
                'add_many',
                'SELECT 1 FROM graphile_worker.add_jobs(ARRAY(SELECT json_populate_recordset(NULL::graphile_worker.job_spec, $1::json)))',
              ];
        const specs = deliveries.map(({ key }, index) => ({
          identifier: task,
          payload: payload(n + index),
          queue_name: key ?? null,
        }));
        const values =
          specs.length === 1
            ? [task, JSON.stringify(specs[0]!.payload), specs[0]!.queue_name]
            : [JSON.stringify(specs)];
        await client.query({ name, text, values });
      }),

    idle: (url, queues) =>
      run(
        url,
        Array.from({ length: queues }, (_, n) => `idle_${n}`),
        {},
        () => undefined,
      ),
  };
}
