import { Module, type DynamicModule } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AttemptTally, DeliveriesModule, DeliveryRecorder, retry, succeeded } from 'nest-deliveries';
import { captureLog } from '../faults/support/captured-log';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { type Line, lineTo } from '../faults/support/line';
import { attemptsOf, rowOf, rowsOf } from '../faults/support/rows';
import { hang, scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp, testPace } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let apps: { close(): Promise<void> }[] = [];
let line: Line | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  line?.thaw();
  await Promise.all(apps.map((app) => app.close()));
  await line?.close();
  apps = [];
  line = undefined;
  await database.drop();
});

const settings = { name: 'mail', maxAge: '1d', workers: 1, sendTimeout: '20s', lease: '60s' } as const;

async function start(
  channel: ScriptedChannel,
  options: Parameters<typeof startDeliveriesApp>[2] = {},
): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(database.url, [channel.type], options);
  apps.push(app);
  return app;
}

@Module({})
class Imports {}

it.each(['before', 'after'])(
  'BL-101: lets sends in flight end and stores their outcomes, DeliveriesModule being imported %s TypeOrmModule',
  async (place) => {
    const channel = scriptedChannel(settings);
    const { passed, open } = gate();
    channel.on('gated', (_, { number }) => passed.then(() => (number === 1 ? retry(503) : succeeded())));
    const typeOrm = TypeOrmModule.forRoot({ type: 'postgres', url: database.url, retryAttempts: 0 });
    const deliveries = DeliveriesModule.forRoot({ ...testPace, shutdownGrace: '10s' });
    const both: DynamicModule[] = place === 'before' ? [deliveries, typeOrm] : [typeOrm, deliveries];
    const module = await Test.createTestingModule({
      imports: [{ module: Imports, imports: [ScheduleModule.forRoot(), ...both] }],
      providers: [channel.type],
    }).compile();
    await module.init();
    apps.push(module);
    const log = captureLog();
    const ids = await enqueue({ recorder: module.get(DeliveryRecorder) }, channel, [
      { script: 'gated' },
      { script: 'gated' },
    ]);
    await until('both are in flight', () => channel.inFlight().length === 2);
    const waiting = await enqueueOne(
      { recorder: module.get(DeliveryRecorder) },
      channel,
      {},
      // Far enough ahead that a busy machine has begun to close by then.
      { notBefore: new Date(Date.now() + 2_500) },
    );
    const closed = module.close();
    // While it waits, nothing more is claimed, although it is due and slots are free.
    await until('the other is due', async () => (await rowOf(database, waiting)).due_at.getTime() < Date.now() - 100);
    open();
    await closed;
    for (const row of await rowsOf(database, ids)) {
      expect(row).toMatchObject({ status: 'pending', attempts: 1, claim_token: null, last_error: '503' });
    }
    expect(await rowOf(database, waiting)).toMatchObject({ status: 'pending', attempts: 0, claim_token: null });
    expect(channel.calls).toHaveLength(2);
    expect(module.get(AttemptTally).of('mail')).toMatchObject({ retried: 2, lease_lost: 0 });
    expect(log.filter((text) => !text.startsWith('Delivery'))).toEqual([]);
  },
);

it('aborts what takes longer than the grace and releases it: one attempt, due at once', async () => {
  const channel = scriptedChannel(settings);
  channel.on('hang', (_, attempt) => hang(attempt));
  const app = await start(channel, { shutdownGrace: 200 });
  const ids = await enqueue(app, channel, [{ script: 'hang' }, { script: 'hang' }]);
  await until('both are in flight', () => channel.inFlight().length === 2);
  const began = performance.now();
  await app.close();
  expect(performance.now() - began).toBeLessThan(10_000);
  expect(channel.inFlight()).toEqual([]);
  for (const row of await rowsOf(database, ids)) {
    expect(row).toMatchObject({
      status: 'pending',
      attempts: 1,
      claim_token: null,
      crashes: 0,
      last_error: 'shutdown',
    });
    expect(row.due_at.getTime()).toBeLessThanOrEqual(Date.now());
  }
  expect(await attemptsOf(database, ...ids)).toEqual([
    { number: 1, outcome: 'retried', error: 'shutdown' },
    { number: 1, outcome: 'retried', error: 'shutdown' },
  ]);
  const next = scriptedChannel(settings);
  await start(next);
  await until('the next process has sent them', async () =>
    (await rowsOf(database, ids)).every(({ status, attempts }) => status === 'succeeded' && attempts === 2),
  );
});

it('gives a claim back that was committed when the stop began: no attempt, and due as before', async () => {
  line = await lineTo(database.url);
  const channel = scriptedChannel(settings);
  const app = await start(channel, { connection: line.connection, pollInterval: '1h' });
  await enqueueOne(app, channel, {});
  app.workers.wake();
  await until('the first claim is over', () => app.tally.of('mail').succeeded === 1);
  const ids = await enqueue(app, channel, [{ n: 1 }, { n: 2 }]);
  const before = await rowsOf(database, ids);
  const frozen = line.freezeReplyTo('deliveries_claim');
  app.workers.wake();
  await frozen;
  await until('the claim is committed', async () => (await rowOf(database, ids[0]!)).claim_token !== null);
  const closed = app.close();
  line.thaw();
  await closed;
  const after = await rowsOf(database, ids);
  // To the microsecond that JavaScript's dates do not have.
  expect(after).toEqual(before);
  expect(after[0]).toMatchObject({ attempts: 0, claim_token: null, lease_expires_at: null });
  expect(channel.calls).toHaveLength(1);
});

it('gives a suspect back that waits until nothing else is being sent', async () => {
  const channel = scriptedChannel(settings);
  const { passed, open } = gate();
  channel.on('gated', () => passed.then(succeeded));
  const app = await start(channel, { shutdownGrace: '10s' });
  await enqueueOne(app, channel, { script: 'gated' });
  await until('it is in flight', () => channel.inFlight().length === 1);
  const suspect = await enqueueOne(app, channel, { n: 1 }, { notBefore: new Date(Date.now() + 60_000) });
  await database.query(
    'UPDATE deliveries.deliveries SET crashes = 3, attempts = 3, due_at = clock_timestamp() WHERE id = $1',
    [suspect],
  );
  await until('the suspect is claimed', async () => (await rowOf(database, suspect)).claim_token !== null);
  const closed = app.close();
  await until('the suspect is given back at once', async () => (await rowOf(database, suspect)).claim_token === null);
  expect(channel.inFlight()).toHaveLength(1);
  open();
  await closed;
  expect(await rowOf(database, suspect)).toMatchObject({
    status: 'pending',
    attempts: 3,
    crashes: 3,
    last_error: null,
  });
  expect(channel.calls).toHaveLength(1);
});

it('does not wait for a database that does not answer any longer than it waits for outcomes', async () => {
  line = await lineTo(database.url);
  const channel = scriptedChannel(settings);
  const { passed, open } = gate();
  channel.on('gated', () => passed.then(succeeded));
  const app = await start(channel, { connection: line.connection, shutdownGrace: '1s' });
  await enqueueOne(app, channel, { script: 'gated' });
  await until('it is in flight', () => channel.inFlight().length === 1);
  line.freeze();
  open();
  const began = performance.now();
  await app.close();
  // The send has returned; 5 s for its outcome and for the claim under way, 1 s for the connections.
  expect(performance.now() - began).toBeLessThan(10_000);
});
