import { DeliveryNotFoundError, failed, succeeded, type CleanUpReport } from 'nest-deliveries';
import { countOf, deadlocks, insertRows } from '../deliveries/ended-rows';
import { enqueue } from '../faults/support/enqueue';
import { until } from '../faults/support/facts';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let apps: DeliveriesApp[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
  await database.drop();
});

async function start(...given: Parameters<typeof startDeliveriesApp>): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(...given);
  apps.push(app);
  return app;
}

it('BL-032: four cleaners, one by hand, four busy workers and a bulk retry: no deadlock, and each row deleted once', async () => {
  const channel = scriptedChannel({ name: 'mail', maxAge: '1d', workers: 1, concurrency: 5 });
  channel.on('fails', (_, { number }) => (number === 1 ? failed(410) : succeeded()));
  const quiet = { cleanUpInterval: false, pollInterval: 50 } as const;
  const replicas = await Promise.all(Array.from({ length: 4 }, () => start(database.url, [channel.type], quiet)));
  const byHand = await start(database.url, [channel.type], { ...quiet, run: [] });
  await insertRows(database, { count: 20_000, settledAgo: "interval '8 days'" });
  // Past their retention, too: clean-up and the operator reach for the same rows.
  await insertRows(database, { count: 2_000, status: 'failed', settledAgo: "interval '31 days'" });
  await enqueue(
    byHand,
    channel,
    Array.from({ length: 1_500 }, (_, n) => (n % 3 === 0 ? { script: 'fails' } : {})),
  );
  const total = 23_500;
  const dead = await database.query<{ id: string }>(
    "SELECT id FROM deliveries.deliveries WHERE status = 'failed' ORDER BY random() LIMIT 300",
  );

  const reports: CleanUpReport[] = [];
  const clean = async ({ cleaner }: DeliveriesApp): Promise<void> => {
    // Over and over: a pass that met another cleaner ends early.
    while ((await countOf(database, 'deliveries', "settled_at < now() - interval '7 days'")) > 0) {
      reports.push(await cleaner.runOnce());
    }
  };
  let retried = 0;
  const bulkRetry = Promise.all(
    dead.map(async ({ id }) => {
      try {
        await byHand.operations.retry(id, { actor: 'ops' });
        retried += 1;
      } catch (error) {
        if (!(error instanceof DeliveryNotFoundError)) throw error;
      }
    }),
  );
  for (const { workers } of replicas) workers.wake();
  await Promise.all([...replicas, byHand].map(clean));
  await bulkRetry;
  await until('the workers are done', async () => (await countOf(database, 'deliveries', "status = 'pending'")) === 0);
  expect(
    (await countOf(database, 'deliveries', "status = 'succeeded'")) +
      (await countOf(database, 'deliveries', "status = 'failed'")),
  ).toBe(1_500 + retried);

  const reported = reports.reduce((sum, { deleted }) => sum + deleted.succeeded + deleted.failed, 0);
  expect(reported).toBe(total - (await countOf(database, 'deliveries')));
  // The trigger writes a row for each event that lost a delivery, and here each delivery has an event of its own.
  expect(await countOf(database, 'delivery_removals')).toBe(reported);
  expect(reported).toBe(22_000 - retried);
  expect(reports.filter(({ deleted }) => deleted.succeeded > 0).length).toBeGreaterThan(1);
  await Promise.all(apps.map((app) => app.close()));
  expect(await deadlocks(database)).toBe(0);
}, 60_000);
