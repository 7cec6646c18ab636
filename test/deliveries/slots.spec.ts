import { succeeded } from 'nest-deliveries';
import { captureLog } from '../faults/support/captured-log';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, type Gate, until } from '../faults/support/facts';
import { type Line, lineTo } from '../faults/support/line';
import { attemptsOf, countByStatus, rowOf } from '../faults/support/rows';
import { hang, scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let app: DeliveriesApp | undefined;
let line: Line | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await app?.close();
  await line?.close();
  app = line = undefined;
  await database.drop();
});

it('lets 500 healthy deliveries pass one that hangs to its deadline', async () => {
  const channel = scriptedChannel({
    name: 'mail',
    maxAge: '1d',
    workers: 1,
    concurrency: 10,
    sendTimeout: '3s',
    lease: '8s',
  });
  channel.on('hang', (_, attempt) => hang(attempt));
  app = await startDeliveriesApp(database.url, [channel.type], { pollInterval: '1s' });
  const hung = await enqueueOne(app, channel, { script: 'hang' });
  await enqueue(
    app,
    channel,
    Array.from({ length: 500 }, (_, n) => ({ n })),
  );
  app.workers.wake();

  await until('all 500 have arrived', async () => (await countByStatus(database))['succeeded'] === 500);
  expect(channel.inFlight().map(({ id }) => id)).toEqual([hung]);
  const arrived = performance.now();

  const [attempt] = await until('the hung one has ended', async () => {
    const attempts = await attemptsOf(database, hung);
    return attempts.length > 0 && attempts;
  });
  expect(attempt).toEqual({ number: 1, outcome: 'retried', error: 'timeout' });
  const call = channel.calls.find(({ id }) => id === hung)!;
  expect(call.endedAt! - call.startedAt).toBeGreaterThanOrEqual(2_950);
  expect(call.endedAt!).toBeGreaterThan(arrived);
  expect(channel.calls.filter(({ id }) => id !== hung)).toHaveLength(500);
});

it('claims nothing that it does not start at once: every claimed row is in flight, and a freed slot takes one more', async () => {
  const channel = scriptedChannel({
    name: 'mail',
    maxAge: '1d',
    workers: 2,
    concurrency: 4,
    sendTimeout: '30s',
    lease: '60s',
  });
  const gates = new Map<string, Gate>();
  channel.on('gated', async ({ id }) => {
    const own = gate();
    gates.set(id, own);
    await own.passed;
    return succeeded();
  });
  app = await startDeliveriesApp(database.url, [channel.type]);
  const total = 30;
  await enqueue(
    app,
    channel,
    Array.from({ length: total }, () => ({ script: 'gated' })),
  );

  for (let done = 0; done < total; done += 3) {
    const expected = Math.min(8, total - done);
    await until('all that ended is settled', async () => ((await countByStatus(database))['succeeded'] ?? 0) === done);
    await until(`${expected} in flight, ${done} done`, () => channel.inFlight().length === expected);
    const seen = app.workers.inFlight;
    const claimed = await database.query<{ id: string }>(
      'SELECT id FROM deliveries.deliveries WHERE claim_token IS NOT NULL ORDER BY id',
    );
    const inFlight = channel.inFlight().map(({ id }) => id);
    expect(claimed.map(({ id }) => id)).toEqual(inFlight.toSorted());
    expect(seen).toBe(expected);
    for (const id of inFlight.slice(0, 3)) gates.get(id)!.open();
  }
  await until('all have arrived', async () => (await countByStatus(database))['succeeded'] === total);
  expect(channel.calls).toHaveLength(total);
});

it('takes what has been due longest first, and has no transaction open while it sends', async () => {
  const channel = scriptedChannel({ name: 'mail', maxAge: '1d', workers: 1, concurrency: 1 });
  const held = gate();
  channel.on('held', async () => {
    await held.passed;
    return succeeded();
  });
  // A process that only records: nothing is sent before all of them have their times.
  app = await startDeliveriesApp(database.url, [channel.type], { run: [] });
  const ids = await enqueue(app, channel, [{ n: 1 }, { n: 2 }, { n: 3 }, { script: 'held' }]);
  await app.close();
  await database.query(
    `UPDATE deliveries.deliveries SET due_at = now() - array_position($1::uuid[], id) * interval '1 minute'`,
    [ids],
  );
  app = await startDeliveriesApp(database.url, [channel.type]);
  await until('the first is being sent', () => channel.inFlight().length === 1);
  // Everybody sees the claim, and nothing is waiting for the end of the send.
  expect(await rowOf(database, ids[3]!)).toMatchObject({ status: 'pending', attempts: 1 });
  const open = await database.query(
    `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
  );
  expect(open).toEqual([]);
  held.open();
  await until('all have arrived', () => channel.calls.length === 4);
  expect(channel.calls.map(({ id }) => id)).toEqual(ids.toReversed());
});

it('asks no more often than it polls while idle, and not at all while its slots are full', async () => {
  line = await lineTo(database.url);
  const channel = scriptedChannel({
    name: 'mail',
    maxAge: '1d',
    workers: 2,
    concurrency: 3,
    sendTimeout: '30s',
    lease: '60s',
  });
  const release = gate();
  channel.on('gated', async () => {
    await release.passed;
    return succeeded();
  });
  app = await startDeliveriesApp(database.url, [channel.type], { connection: line.connection, pollInterval: 100 });
  await until('both workers have looked', () => line!.connections() >= 1);
  const began = performance.now();
  const claims = line.count('deliveries_claim');
  const idle = line.count('deliveries_waiting');
  await until('ten polls have passed', () => idle() >= 10);
  // At each poll, every 100 ms, one of the workers asks whether anything waits: ten polls in 900 ms, less 20 ms of jitter.
  expect(performance.now() - began).toBeGreaterThan(750);
  // At the start each worker claims on each path, whatever waits.
  expect(claims()).toBeLessThanOrEqual(2 * 3);

  await enqueue(
    app,
    channel,
    Array.from({ length: 20 }, () => ({ script: 'gated' })),
  );
  await until('all slots are full', () => channel.inFlight().length === 6);
  const saturated = line.count('deliveries_claim');
  const asked = line.count('deliveries_waiting');
  const polls = performance.now();
  await until('five polls have passed', () => performance.now() - polls > 500);
  expect(saturated() + asked()).toBe(0);
  release.open();
  await until('all have arrived', async () => (await countByStatus(database))['succeeded'] === 20);
});

it('loses no wake-up that comes while a claim is on its way back', async () => {
  line = await lineTo(database.url);
  const channel = scriptedChannel({ name: 'mail', maxAge: '1d', workers: 1 });
  // No poll comes to the rescue.
  app = await startDeliveriesApp(database.url, [channel.type], { connection: line.connection, pollInterval: '1h' });
  await enqueueOne(app, channel, {});
  app.workers.wake();
  await until('the first claim is over', () => app!.tally.of('mail').succeeded === 1);

  const frozen = line.freezeReplyTo('deliveries_claim');
  app.workers.wake();
  await frozen;
  // The claim has seen an empty queue. What is recorded now, past the proxy, is news that only the wake-up brings.
  const id = await enqueueOne(app, channel, {});
  app.workers.wake();
  line.thaw();
  await until('it has arrived', async () => (await rowOf(database, id)).status === 'succeeded');
  expect(channel.calls).toHaveLength(2);
});

it('leaves a slot to a channel that ignores its signal until it returns or the lease ends, and nothing else suffers', async () => {
  const channel = scriptedChannel({
    name: 'mail',
    maxAge: '1d',
    workers: 1,
    concurrency: 3,
    sendTimeout: 100,
    lease: 5_100,
  });
  const release = gate();
  const never = gate();
  const deaf =
    (until_: Gate) =>
    async (_: unknown, { number }: { number: number }) => {
      if (number === 1) await until_.passed;
      return succeeded();
    };
  channel.on('returns late', deaf(release));
  channel.on('never returns', deaf(never));
  app = await startDeliveriesApp(database.url, [channel.type]);
  const log = captureLog();
  const late = await enqueueOne(app, channel, { script: 'returns late' });
  const lost = await enqueueOne(app, channel, { script: 'never returns' });
  await until('both are in flight', () => channel.inFlight().length === 2);
  const began = channel.calls[0]!.startedAt;
  await enqueue(
    app,
    channel,
    Array.from({ length: 20 }, (_, n) => ({ n })),
  );

  // A second after the abort each is settled without its channel, and its next attempt goes through the one free slot.
  await until('all have arrived', async () => (await countByStatus(database))['succeeded'] === 22);
  for (const id of [late, lost]) {
    expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'retried', error: 'timeout' }]);
  }
  expect(log.filter((text) => text.includes('its slot stays taken'))).toHaveLength(2);
  expect(app.workers.inFlight).toBe(2);
  release.open();
  await until('the slot of the one that returned is free', () => app!.workers.inFlight === 1);
  await until('the other one is free when its lease has ended', () => app!.workers.inFlight === 0);
  expect(performance.now() - began).toBeGreaterThan(5_000);
  expect(app.tally.of('mail')).toEqual({ succeeded: 22, retried: 2, failed: 0, lease_lost: 0 });
  never.open();
});
