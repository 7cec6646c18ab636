import { succeeded, WakeUps } from 'nest-deliveries';
import { WorkerDatabase } from '../../libs/deliveries/src/database/worker-database';
import { captureLog } from '../faults/support/captured-log';
import { enqueue } from '../faults/support/enqueue';
import { until } from '../faults/support/facts';
import { countByStatus } from '../faults/support/rows';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startPgBouncer, withPgBouncer } from './pgbouncer';
import { poolerLineTo } from './pooler-line';

let database: TestDatabase;
let app: DeliveriesApp | undefined;
let closing: (() => Promise<void>)[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await app?.close();
  app = undefined;
  for (const close of closing) await close();
  closing = [];
  await database.drop();
});

const settings = `SELECT current_setting('transaction_isolation') AS isolation, current_setting('enable_seqscan') AS seqscan`;
const ours = [{ isolation: 'read committed', seqscan: 'off' }];

async function workers(url: string, more: object = {}): Promise<WorkerDatabase> {
  await database.query(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation TO serializable', current_database()); END $$`,
  );
  const workerDatabase = new WorkerDatabase({ connectionString: url, max: 2, ...more });
  closing.unshift(() => workerDatabase.close());
  return workerDatabase;
}

test('a direct connection prepares, and has the settings from its start, beside the host’s own', async () => {
  const direct = await workers(database.url, { options: '-c work_mem=5MB' });
  const statement = `${settings}, current_setting('work_mem') AS memory`;
  expect(await direct.query('settings', statement, [])).toEqual([{ ...ours[0], memory: '5MB' }]);
  expect(await direct.query('prepared', 'SELECT name FROM pg_prepared_statements ORDER BY name', [])).toEqual([
    { name: 'prepared' },
    { name: 'settings' },
  ]);
});

test.each(['refuses', 'ignores'] as const)(
  'behind a pooler that %s settings nothing is prepared, and each statement has them',
  async (how) => {
    const line = await poolerLineTo(database.url, how);
    closing.push(() => line.close());
    const log = captureLog();
    const pooled = await workers(line.url);
    expect(await Promise.all([1, 2, 3].map(() => pooled.query('settings', settings, [])))).toEqual([ours, ours, ours]);
    const signal = new AbortController().signal;
    const inTransaction = await pooled.transaction((run) => run(settings), { deadline: 1_000, signal });
    expect(inTransaction).toEqual(ours);
    // The next session gets nothing of them.
    const host = await pooled.transaction((run) => run('SHOW default_transaction_isolation'), {
      deadline: 1_000,
      signal,
    });
    expect(host).toEqual([{ default_transaction_isolation: 'serializable' }]);
    expect(line.prepared).toEqual([]);
    expect(log.filter((text) => text.includes('A pooler'))).toHaveLength(1);
  },
);

test('a statement that fails behind a pooler is rolled back, and the next one works', async () => {
  const line = await poolerLineTo(database.url, 'refuses');
  closing.push(() => line.close());
  const pooled = await workers(line.url);
  await expect(pooled.query('bad', 'SELECT 1/0', [])).rejects.toMatchObject({ code: '22012' });
  expect(await pooled.query('good', 'SELECT $1::integer AS n', [1])).toEqual([{ n: 1 }]);
});

withPgBouncer(
  'behind PgBouncer everything arrives, ordered and not; LISTEN knows that it is deaf, and polls serve',
  async (program) => {
    const bouncer = await startPgBouncer(program, database.url);
    closing.push(() => bouncer.close());
    const channel = scriptedChannel({ name: 'mail', maxAge: '1d', workers: 2, concurrency: 5 });
    const sent: number[] = [];
    channel.on('ordered', ({ payload }) => {
      sent.push(payload.n!);
      return succeeded();
    });
    app = await startDeliveriesApp(bouncer.url, [channel.type], { pollInterval: 50 });
    const ordered = Array.from({ length: 20 }, (_, n) => ({ script: 'ordered', n }));
    await enqueue(app, channel, ordered, { orderingKey: 'k' });
    await enqueue(
      app,
      channel,
      Array.from({ length: 50 }, () => ({})),
    );
    await enqueue(
      app,
      channel,
      Array.from({ length: 50 }, () => ({})),
      { lane: 'a' },
    );
    await until('all are settled', async () => (await countByStatus(database))['succeeded'] === 120, 15_000);
    // oxlint-disable-next-line jest/no-standalone-expect -- withPgBouncer is a test, or skipped
    expect(sent).toEqual(ordered.map(({ n }) => n));
    await until('LISTEN knows', () => app!.module.get(WakeUps).state === 'deaf');
  },
);
