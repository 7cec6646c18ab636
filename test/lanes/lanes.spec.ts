import { retry, succeeded } from 'nest-deliveries';
import { Claimer } from '../../libs/deliveries/src/claim/claimer';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { rowOf, rowsOf } from '../faults/support/rows';
import { type ScriptedChannel, scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let apps: DeliveriesApp[] = [];
let open: () => void;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  jest.restoreAllMocks();
  open?.();
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
  await database.drop();
});

async function start(
  channel: ScriptedChannel,
  options: Parameters<typeof startDeliveriesApp>[2] = {},
): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(database.url, [channel.type], options);
  apps.push(app);
  return app;
}

/** A channel whose sends wait, if their script is `gated`, until the test lets all of them go. */
function hooks(
  settings: Partial<Parameters<typeof scriptedChannel>[0]> = {},
): ScriptedChannel & { inFlightOf(n: number): number } {
  const channel = scriptedChannel({
    name: 'hooks',
    maxAge: '1d',
    workers: 2,
    concurrency: 5,
    sendTimeout: '30s',
    lease: '60s',
    ...settings,
  });
  const held = gate();
  open = held.open;
  channel.on('gated', async () => {
    await held.passed;
    return succeeded();
  });
  return { ...channel, inFlightOf: (n) => channel.inFlight().filter(({ payload }) => payload.n === n).length };
}

const times = (count: number, n: number, script = '') => Array.from({ length: count }, () => ({ n, script }));

test('a lane has its share of the replica’s slots while another waits, and all of them when none does', async () => {
  const channel = hooks({ lane: { share: 0.3 } });
  const app = await start(channel);
  const another = gate();
  channel.on('another', async () => {
    await another.passed;
    return succeeded();
  });
  // Each is in the way of the other, for as long as this one may be.
  await enqueue(app, channel, times(6, 3, 'another'), { lane: 'another' });
  await until('the first has its share, or more', () => channel.inFlightOf(3) >= 3);
  await enqueue(app, channel, times(30, 1, 'gated'), { lane: 'slow' });
  await until('the lane has its share', () => channel.inFlightOf(1) === 3);
  await enqueue(app, channel, times(12, 2), { lane: 'fast' });
  await until(
    'the other lane passes it by',
    () => channel.calls.filter(({ payload }) => payload.n === 2).length === 12,
  );
  expect(channel.inFlightOf(1)).toBe(3);
  another.open();
  await until('it has all slots once nobody else waits', () => channel.inFlightOf(1) === 10);
  open();
  await until('all arrive', () => channel.calls.length === 48 && channel.inFlight().length === 0);
});

test('the share is a setting, and one of a lone slot is that slot', async () => {
  const channel = hooks({ workers: 1, concurrency: 10, lane: { share: 0.2 } });
  const app = await start(channel);
  await enqueue(app, channel, times(9, 1, 'gated'), { lane: 'a' });
  await enqueue(app, channel, times(9, 2, 'gated'), { lane: 'b' });
  await until('both have their share', () => channel.inFlight().length === 4);
  expect([channel.inFlightOf(1), channel.inFlightOf(2)]).toEqual([2, 2]);
  open();
  await until('all arrive', () => channel.calls.length === 18);

  const lone = hooks({ name: 'lone', workers: 1, concurrency: 1 });
  const other = await start(lone, { schema: 'lone' });
  await enqueue(other, lone, times(2, 1), { lane: 'a' });
  await enqueue(other, lone, times(2, 2), { lane: 'b' });
  await until('all arrive through one slot', () => lone.calls.length === 4);
});

test('every lane has its turn: what many wait for does not stand in front of one', async () => {
  const channel = hooks({ workers: 1, concurrency: 4 });
  const app = await start(channel, { run: [] });
  for (let lane = 0; lane < 30; lane += 1) {
    await enqueue(app, channel, times(4, lane), { lane: `lane ${String(lane).padStart(2, '0')}` });
  }
  await start(channel);
  await until('all arrive', () => channel.calls.length === 120);
  // In each pass two of a lane at most: the first of every lane is sent before the last of any.
  const order = channel.calls.map(({ payload }) => payload.n);
  const firsts = Array.from({ length: 30 }, (_, lane) => order.indexOf(lane));
  const lasts = Array.from({ length: 30 }, (_, lane) => order.lastIndexOf(lane));
  expect(Math.max(...firsts)).toBeLessThan(Math.min(...lasts));
});

test('deliveries with a lane, with a key, with both and with neither share a channel', async () => {
  const channel = hooks();
  const app = await start(channel);
  const drafts = [{}, { lane: 'a' }, { orderingKey: 'k' }, { orderingKey: 'k', lane: 'a' }] as const;
  for (const more of drafts) await enqueue(app, channel, times(8, 0), more);
  await until('all arrive', () => channel.calls.length >= 32);
  expect(new Set(channel.calls.map(({ id }) => id)).size).toBe(32);
});

test('a lane’s deliveries go longest due first, and one whose worker vanished counts a crash', async () => {
  const channel = hooks({ workers: 1, concurrency: 1 });
  const app = await start(channel, { run: [] });
  const ids = await enqueue(app, channel, times(4, 0), { lane: 'a' });
  await database.query(
    `UPDATE deliveries.deliveries SET due_at = now() - array_position($1::uuid[], id) * interval '1 minute'`,
    [ids],
  );
  await database.query(
    `UPDATE deliveries.deliveries SET claim_token = gen_random_uuid(), attempts = 1, lease_expires_at = due_at WHERE id = $1`,
    [ids[3]],
  );
  await start(channel);
  await until('all arrive', () => channel.calls.length === 4);
  expect(channel.calls.map(({ id, attempt }) => [id, attempt])).toEqual([
    [ids[3], 2],
    [ids[2], 1],
    [ids[1], 1],
    [ids[0], 1],
  ]);
  await until('all are settled', async () => (await rowsOf(database, ids)).every((row) => row.status === 'succeeded'));
  expect((await rowOf(database, ids[3]!)).crashes).toBe(1);
});

describe('a receiver that asks to be left alone', () => {
  const pauses = () =>
    database.query<{ lane: string; reason: string; seconds: number }>(
      `SELECT lane, reason, extract(epoch FROM until - clock_timestamp())::float8 AS seconds FROM deliveries.delivery_pauses`,
    );

  test('holds its lane on every replica, uses up no attempts of those that wait, and the others go on', async () => {
    const channel = hooks({ workers: 1, concurrency: 2 });
    const other = hooks({ workers: 1, concurrency: 2 });
    for (const each of [channel, other]) each.on('busy', () => retry(429, { retryAfter: '600' }));
    const app = await start(channel);
    const asked = await enqueueOne(app, channel, { script: 'busy' }, { lane: 'quiet' });
    await until('the hold is written', async () => (await pauses()).length === 1);
    const [hold] = await pauses();
    expect(hold).toMatchObject({ lane: 'quiet', reason: 'retry_after' });
    expect(hold!.seconds).toBeGreaterThan(590);

    await start(other);
    const waiting = await enqueue(app, channel, times(5, 1), { lane: 'quiet' });
    const ordered = await enqueueOne(app, channel, { n: 1 }, { lane: 'quiet', orderingKey: 'k' });
    await enqueue(app, channel, times(20, 2), { lane: 'loud' });
    const arrived = () => [...channel.calls, ...other.calls].filter(({ payload }) => payload.n !== undefined);
    await until('the others arrive', () => arrived().length === 20);
    // Both have looked since: the others came by the same claims.
    expect(arrived().filter(({ payload }) => payload.n === 1)).toEqual([]);
    expect((await rowsOf(database, [...waiting, ordered])).map(({ attempts }) => attempts)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await rowOf(database, asked)).toMatchObject({ status: 'pending', attempts: 1, last_error: '429' });

    await database.query(`UPDATE deliveries.delivery_pauses SET until = clock_timestamp()`);
    await until('the rest arrive when the time is over', () => arrived().length === 26);
  });

  test('holds it for an hour at most; for as long as the retry waits when it says 429 alone; a longer wish counts', async () => {
    const channel = hooks({ workers: 1, concurrency: 1 });
    channel.on('day', () => retry(503, { retryAfter: 86_400_000 }));
    channel.on('plain', () => retry(429));
    channel.on('error', () => retry(503));
    const app = await start(channel, { retry: { first: '30s', max: '30s' } });
    await enqueueOne(app, channel, { script: 'error' }, { lane: 'c' });
    await enqueueOne(app, channel, { script: 'day' }, { lane: 'a' });
    await enqueueOne(app, channel, { script: 'plain' }, { lane: 'b' });
    await enqueueOne(app, channel, { script: 'day' });
    await until('all were sent', () => channel.calls.length === 4);
    await until('both holds are written', async () => (await pauses()).length === 2);
    const [a, b] = (await pauses()).toSorted((x, y) => x.lane.localeCompare(y.lane));
    expect([a!.lane, b!.lane]).toEqual(['a', 'b']);
    expect(a!.seconds).toBeGreaterThan(3_590);
    expect(a!.seconds).toBeLessThanOrEqual(3_600);
    expect(b!.seconds).toBeGreaterThan(1);
    expect(b!.seconds).toBeLessThanOrEqual(30);
  });
});

describe('what an operator paused is left alone, and goes on when the pause ends', () => {
  const pause = (lane: string) =>
    database.query(
      `INSERT INTO deliveries.delivery_pauses (channel, lane, reason, since) VALUES ('hooks', $1, 'operator', now())`,
      [lane],
    );
  const drafts = [{}, { lane: 'a' }, { orderingKey: 'k' }, { orderingKey: 'l', lane: 'a' }] as const;

  test.each([
    ['a channel', '', []],
    ['a lane', 'a', [0, 2]],
  ])('%s', async (_, lane, sent) => {
    const channel = hooks();
    const app = await start(channel);
    await pause(lane);
    for (const [n, more] of drafts.entries()) await enqueueOne(app, channel, { n }, more);
    await until('what is not paused arrives', () => channel.calls.length === sent.length);
    const looks = jest.spyOn(Claimer.prototype, 'waiting');
    await until('the workers have looked again', () => looks.mock.calls.length >= 3);
    expect(new Set(channel.calls.map(({ payload }) => payload.n))).toEqual(new Set(sent));
    await database.query('UPDATE deliveries.delivery_pauses SET until = clock_timestamp()');
    await until('all arrive', () => channel.calls.length === drafts.length);
  });

  test('a chain of one key ends at the pause', async () => {
    const channel = hooks();
    channel.on('pauses', async () => {
      await pause('');
      return succeeded();
    });
    const app = await start(channel);
    const ids = await enqueue(app, channel, [{ script: 'pauses' }, {}, {}], { orderingKey: 'k' });
    await until('the first is settled', async () => (await rowOf(database, ids[0]!)).status === 'succeeded');
    expect((await rowsOf(database, ids)).map(({ attempts }) => attempts)).toEqual([1, 0, 0]);
    await database.query('DELETE FROM deliveries.delivery_pauses');
    await until('the rest arrives', () => channel.calls.length === 3);
  });
});

test('a suspect with a lane gives its place in the lane back', async () => {
  const channel = hooks({ workers: 1, concurrency: 4 });
  const recording = await start(channel, { run: [] });
  const suspects = await enqueue(recording, channel, times(2, 0), { lane: 'b' });
  await database.query(
    `UPDATE deliveries.deliveries SET claim_token = gen_random_uuid(), attempts = 3, crashes = 3,
            due_at = now(), lease_expires_at = now()`,
  );
  // Of two suspects in one claim, one is sent and one given back.
  const givenBack = jest.spyOn(Claimer.prototype, 'giveBack');
  const app = await start(channel);
  await until('both are sent', async () =>
    (await rowsOf(database, suspects)).every(({ status }) => status === 'succeeded'),
  );
  expect(givenBack).toHaveBeenCalledTimes(1);
  await app.recorder.transaction(async (tx) => {
    for (const payload of times(5, 1, 'gated'))
      await app.recorder.enqueue(tx, channel.type, { destination: 'test', payload, lane: 'a' });
    for (const payload of times(5, 2, 'gated'))
      await app.recorder.enqueue(tx, channel.type, { destination: 'test', payload, lane: 'b' });
  });
  await until('all slots are taken', () => channel.inFlight().length === 4);
  expect([channel.inFlightOf(1), channel.inFlightOf(2)]).toEqual([2, 2]);
});
