import { DeliveriesHealthIndicator, QueueCounter, WakeUps, type DeliveriesOptions } from 'nest-deliveries';
import { currentVersion } from 'nest-deliveries/migrations';
import { DatabaseProbe } from '../../libs/deliveries/src/observe/health/probe';
import { DeliveriesHealthIndicator as Indicator } from '../../libs/deliveries/src/observe/health/deliveries-health';
import { enqueue } from '../faults/support/enqueue';
import { until } from '../faults/support/facts';
import { scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';

let database: TestDatabase;
let app: DeliveriesApp;
let health: DeliveriesHealthIndicator;
let mail: ScriptedChannel;
let proxy: TcpProxy | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
  await proxy?.close();
  proxy = undefined;
  await database.query('DELETE FROM deliveries.deliveries');
});
afterAll(() => database.drop());

async function start(options: DeliveriesOptions = {}, url = database.url): Promise<void> {
  mail = scriptedChannel({ name: 'mail', maxAge: '1d' });
  app = await startDeliveriesApp(url, [mail.type], options);
  health = app.module.get(DeliveriesHealthIndicator);
}

/** Through a line that can be frozen and refused. */
async function startBehindProxy(options: DeliveriesOptions): Promise<TcpProxy> {
  const { hostname, port, pathname, username } = new URL(database.url);
  proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  await start(options, `postgres://${username}@127.0.0.1:${proxy.port}${pathname}`);
  return proxy;
}

const readiness = async (): Promise<Record<string, unknown>> => (await health.readiness()).deliveries;

/** An answer is good for a second. */
const untilReady = (status: string): Promise<unknown> =>
  until(`readiness is ${status}`, async () => (await readiness())['status'] === status);

it('is up, under the name that it is given, while there is nothing to say', async () => {
  await start();
  await until('it listens', () => app.module.get(WakeUps).state === 'listening');
  expect(health.liveness()).toEqual({ deliveries: { status: 'up' } });
  expect(await health.readiness('queue')).toEqual({
    queue: { status: 'up', listen: 'listening', database: 'up', schema: `version ${currentVersion}` },
  });
  expect(health.liveness('queue')).toEqual({ queue: { status: 'up' } });
});

it('is degraded by what waits too long, by deaf ears, and by a clean-up that does not run', async () => {
  await start({ workers: 0, health: { maxPendingAge: '1m' } });
  await enqueue(app, mail, [{}]);
  const count = (): Promise<void> => app.module.get(QueueCounter).runOnce();
  await count();
  expect(await readiness()).toMatchObject({ status: 'up' });
  await database.query(
    `UPDATE deliveries.deliveries SET created_at = now() - interval '2 min', due_at = now() - interval '2 min'`,
  );
  await count();
  expect(await readiness()).toMatchObject({
    status: 'degraded',
    database: 'up',
    degraded: [expect.stringMatching(/^channel "mail": its oldest pending delivery is 12\d s old, over 60 s$/)],
  });
  // For a terminus that knows no such status.
  expect(await health.readiness('deliveries', { degradedAs: 'up' })).toMatchObject({
    deliveries: { status: 'up', degraded: [expect.any(String)] },
  });
  await database.query('DELETE FROM deliveries.deliveries');
  await count();
  expect(await readiness()).toMatchObject({ status: 'up' });

  const listening = jest.spyOn(app.module.get(WakeUps), 'state', 'get');
  listening.mockReturnValue('deaf');
  expect(await readiness()).toMatchObject({
    status: 'degraded',
    listen: 'deaf',
    degraded: [expect.stringMatching(/^no notification arrives/)],
  });
  listening.mockReturnValue('connecting');
  expect(await readiness()).toMatchObject({
    status: 'degraded',
    degraded: [expect.stringMatching(/^the connection for notifications is down/)],
  });
  // Nobody asked it to listen.
  listening.mockReturnValue('off');
  expect(await readiness()).toMatchObject({ status: 'up', listen: 'off' });

  const ran = jest.spyOn(app.cleaner, 'lastRun', 'get');
  ran.mockReturnValue({ completeAt: undefined, idleFor: 1_799_000 });
  expect(await readiness()).toMatchObject({ status: 'up' });
  ran.mockReturnValue({ completeAt: undefined, idleFor: 1_801_000 });
  expect(await readiness()).toMatchObject({ status: 'degraded', degraded: ['no clean-up has run for 1801 s'] });

  await database.query('ALTER TABLE deliveries.deliveries RENAME TO away');
  await count();
  ran.mockRestore();
  const uncounted = await readiness();
  await database.query('ALTER TABLE deliveries.away RENAME TO deliveries');
  expect(uncounted).toMatchObject({ status: 'degraded', degraded: ['pending deliveries could not be counted'] });
});

it('is down when the schema is behind, or gone', async () => {
  await start({ workers: 0 });
  await database.query('UPDATE deliveries.schema_migrations SET version = version - 100');
  await untilReady('down');
  expect(await readiness()).toMatchObject({
    database: 'up',
    schema: `version ${currentVersion - 100}, needs ${currentVersion}`,
  });
  await database.query('ALTER TABLE deliveries.schema_migrations RENAME TO away');
  await until('it is seen', async () => (await readiness())['schema'] === `version 0, needs ${currentVersion}`);
  await database.query('ALTER TABLE deliveries.away RENAME TO schema_migrations');
  await database.query('UPDATE deliveries.schema_migrations SET version = version + 100');
  await untilReady('up');
  expect(health.liveness()).toMatchObject({ deliveries: { status: 'up' } });
});

it('is down while PostgreSQL cannot be reached, asks one question at a time, and is up again by itself', async () => {
  const line = await startBehindProxy({ health: { timeout: 300 }, listen: false });
  await untilReady('up');
  line.freeze();
  await untilReady('down');
  const before = line.connections();
  const began = performance.now();
  const answers = await Promise.all(Array.from({ length: 50 }, readiness));
  expect(performance.now() - began).toBeLessThan(6_000);
  for (const answer of answers) {
    expect(answer).toMatchObject({ status: 'down', database: 'no answer within 300 ms' });
  }
  expect(line.connections() - before).toBeLessThanOrEqual(1);
  expect(health.liveness()).toMatchObject({ deliveries: { status: 'up' } });
  line.thaw();
  await untilReady('up');
  line.refuse();
  line.cut();
  await until('it is told why', async () => /^ECONN/.test(String((await readiness())['database'])));
  line.accept();
  await untilReady('up');
});

it('feels the pulse of the loops, which says how long a claim has been under way', async () => {
  await start();
  const [pulse] = app.workers.pulses();
  expect(pulse).toMatchObject({ channel: 'mail', inFlight: 0 });
  await until('its poll has come by', () => app.workers.pulses()[0]!.sincePoll < 50);
  let release!: () => void;
  const held = new Promise<void>((resolve) => (release = resolve));
  const lock = app.dataSource.transaction(async (tx) => {
    await tx.query('LOCK TABLE deliveries.deliveries IN ACCESS EXCLUSIVE MODE');
    await held;
  });
  app.workers.wake();
  await until('a claim is under way', () => app.workers.pulses()[0]!.claiming > 100);
  expect(health.liveness()).toMatchObject({ deliveries: { status: 'up' } });
  release();
  await lock;
  await until('it is over', () => app.workers.pulses()[0]!.claiming < 100);
  await app.close();
  // A process that stops is not to be restarted.
  expect(app.workers.pulses()).toEqual([]);
  expect(health.liveness()).toMatchObject({ deliveries: { status: 'up' } });
});

it.each([
  [{ sincePoll: 62_000, claiming: 119_000 }, 'up', undefined],
  [{ sincePoll: 64_000, claiming: 0 }, 'down', ['channel "mail": last poll 64 s ago, a claim under way for 0 s']],
  [{ sincePoll: 0, claiming: 121_000 }, 'down', ['channel "mail": last poll 0 s ago, a claim under way for 121 s']],
])('liveness with a pulse of %j is %s', async (signs, status, stuck) => {
  await start({ workers: 0 });
  const pulses = [
    { channel: 'post', inFlight: 0, sincePoll: 0, claiming: 0 },
    { channel: 'mail', inFlight: 1, ...signs },
  ];
  const nothing = { cleaned: {} as never, lastCompleteAt: undefined, idleFor: undefined, interval: undefined };
  const indicator = new Indicator(
    { pulses: () => pulses, listen: () => 'off', cleanUp: () => nothing },
    new DatabaseProbe(undefined as never, 'deliveries', 1),
    app.module.get(QueueCounter),
    { maxPendingAge: 1, timeout: 1, pollInterval: 1_000, longestLease: () => 60_000, schemaVersion: 1 },
  );
  expect(indicator.liveness()).toEqual({ deliveries: stuck ? { status, stuck } : { status } });
});
