import { succeeded } from 'nest-deliveries';
import { Client } from 'pg';
import { enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { attemptsOf, expireLease, rowOf } from '../faults/support/rows';
import { scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

// BL-008: a delivery that succeeded is put back by what looks for expired claims. Here there is no second pair of hands: taking
// over is the claim statement itself, which skips a locked row and checks a changed one again.

let database: TestDatabase;
let holder: Client;
const apps: DeliveriesApp[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
  holder = new Client({ connectionString: database.url });
  await holder.connect();
});

afterEach(async () => {
  await holder.end();
  await Promise.all(apps.splice(0).map((app) => app.close()));
  await database.drop();
});

const sendsWhen = (passed: Promise<void>, concurrency = 1): ScriptedChannel => {
  const channel = scriptedChannel({
    name: 'mail',
    maxAge: '1d',
    workers: 1,
    concurrency,
    sendTimeout: '20s',
    lease: '60s',
  });
  channel.on('', () => passed.then(succeeded));
  return channel;
};

async function start(channel: ScriptedChannel, pollInterval: '1h' | '50ms' = '50ms'): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(database.url, [channel.type], { pollInterval });
  apps.push(app);
  return app;
}

it('BL-008: keeps an outcome that waited for a lock while the lease ended, and does not send again', async () => {
  const answer = gate();
  // Nobody looks for expired leases before the test says so: there is no poll, and with a slot to spare the claim came back
  // short, so that a slot that frees up is no reason to look again.
  const channel = sendsWhen(answer.passed, 2);
  const app = await start(channel, '1h');
  const id = await enqueueOne(app, channel, {});
  app.workers.wake();
  await until('it is in flight', () => channel.inFlight().length === 1);
  await holder.query('BEGIN');
  await holder.query(
    `UPDATE deliveries.deliveries SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp() WHERE id = $1`,
    [id],
  );
  answer.open();
  await until('the slot is free again', () => app.workers.inFlight === 0);
  await holder.query('COMMIT');
  await until('it is settled', async () => (await rowOf(database, id)).status === 'succeeded');
  const next = await enqueueOne(app, channel, {});
  app.workers.wake();
  await until('the next one has arrived', async () => (await rowOf(database, next)).status === 'succeeded');
  expect(await rowOf(database, id)).toMatchObject({ status: 'succeeded', attempts: 1, crashes: 0, claim_token: null });
  expect(channel.calls.map((call) => call.id)).toEqual([id, next]);
  await until('both are counted', () => app.tally.of('mail').succeeded === 2);
  expect(app.tally.of('mail').lease_lost).toBe(0);
});

it('BL-008: leaves a fresh claim its token and its lease when the outcome of the expired one comes', async () => {
  const late = gate();
  const slow = sendsWhen(late.passed);
  const first = await start(slow);
  const id = await enqueueOne(first, slow, {});
  await until('it is in flight', () => slow.inFlight().length === 1);
  const fresh = gate();
  const quick = sendsWhen(fresh.passed);
  const second = await start(quick);
  await expireLease(database, id);
  await until('another replica has claimed it', () => quick.inFlight().length === 1);
  const claimed = await rowOf(database, id);
  late.open();
  await until('the late outcome is dropped', () => first.tally.of('mail').lease_lost === 1);
  expect(await rowOf(database, id)).toEqual(claimed);
  fresh.open();
  await until('it is counted', () => second.tally.of('mail').succeeded === 1);
  expect(await rowOf(database, id)).toMatchObject({ status: 'succeeded', attempts: 2, crashes: 1 });
  expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'crashed', error: 'crashed' }]);
});

it('BL-008: claims an expired lease once, however many replicas look at the same moment', async () => {
  const channels = [1, 2, 3].map(() => sendsWhen(Promise.resolve()));
  const running = await Promise.all(channels.map((channel) => start(channel)));
  const id = await enqueueOne(running[0]!, channels[0]!, {}, { notBefore: new Date(Date.now() + 3_600_000) });
  await database.query(
    `UPDATE deliveries.deliveries SET attempts = 1, claim_token = gen_random_uuid(), due_at = clock_timestamp(),
            lease_expires_at = clock_timestamp() WHERE id = $1`,
    [id],
  );
  for (const app of running) app.workers.wake();
  await until('it has arrived', async () => (await rowOf(database, id)).status === 'succeeded');
  expect(channels.flatMap(({ calls }) => calls)).toMatchObject([{ id, attempt: 2 }]);
  expect(await rowOf(database, id)).toMatchObject({ attempts: 2, crashes: 1 });
});
