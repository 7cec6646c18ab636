import { failed, retry, RuntimeChannels, succeeded, type Attempt, type Delivery, type Outcome } from 'nest-deliveries';
import { v4, v7 } from 'uuid';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { gate, letter, Letters, until } from './letters';

let database: TestDatabase;
let app: DeliveriesApp;

beforeEach(async () => (database = await createTestDatabase()));
afterEach(async () => {
  await app.close();
  await database.drop();
});

const options = { name: 'parcels', maxAge: '1d', retention: 'manual', revivesCancelled: false } as const;
const parcel = { destination: 'somewhere', payload: { n: 1 } };

/** What a channel is given, and what it answers with. */
class Post {
  readonly arrived: Delivery[] = [];

  constructor(private readonly answer: (attempt: Attempt) => Outcome | Promise<Outcome> = succeeded) {}

  async send(delivery: Delivery, attempt: Attempt): Promise<Outcome> {
    this.arrived.push(delivery);
    return this.answer(attempt);
  }
}

const channels = (): RuntimeChannels => app.module.get(RuntimeChannels);
const statusOf = async (id: string): Promise<unknown> =>
  (await database.query('SELECT status FROM deliveries.deliveries WHERE id = $1', [id]))[0]?.['status'];

it('a channel that is opened while the application runs sends, is closed, and can be opened again', async () => {
  app = await startDeliveriesApp(database.url, []);
  const held = gate();
  const post = new Post(async () => held.passed.then(succeeded));
  const first = channels().open(options, post);
  const { id } = await app.dataSource.transaction((tx) => first.enqueue(tx, parcel));
  await until('it is being sent', () => post.arrived.length === 1);
  // Two channels of one name would send each other's deliveries.
  expect(() => channels().open(options, new Post())).toThrow('are both channels named "parcels"');

  let closed = false;
  const closing = first.close().then(() => (closed = true));
  const { id: left } = await app.dataSource.transaction((tx) => first.enqueue(tx, parcel));
  expect(closed).toBe(false);
  held.open();
  await closing;
  await until('the outcome is written', async () => (await statusOf(id)) === 'succeeded');
  expect(app.workers.pulses()).toEqual([]);
  expect(await statusOf(left)).toBe('pending');

  const again = new Post();
  channels().open(options, again);
  await until('what was left arrives', () => again.arrived.length === 1);
  expect(post.arrived.map((delivery) => delivery.id)).toEqual([id]);
  expect(again.arrived[0]).toMatchObject({ id: left, channel: 'parcels', payload: { n: 1 } });
});

it('nothing is ever caused in it by an event, and operators find it under its own rules', async () => {
  app = await startDeliveriesApp(database.url, [Letters]);
  const channel = channels().open(options, new Post(() => failed('410')));
  await app.dataSource.transaction((tx) => app.recorder.record(tx, { type: 'letters_written', payload: ['a'] }));
  const { id } = await app.dataSource.transaction((tx) => channel.enqueue(tx, parcel));
  await until('it has failed', async () => (await statusOf(id)) === 'failed');
  expect(await database.query(`SELECT FROM deliveries.deliveries WHERE channel = 'parcels'`)).toHaveLength(1);
  // Retention is manual, and what was cancelled stays so; also for whoever does not know the channel any more.
  await database.query(`UPDATE deliveries.deliveries SET settled_at = settled_at - interval '900 d'`);
  await app.cleaner.runOnce();
  await app.operations.cancel(id, { actor: 'ada' });
  await expect(app.operations.retry(id, { actor: 'ada' })).rejects.toMatchObject({ code: 'DELIVERIES_STATE' });
  await channel.close();
  await expect(app.operations.retry(id, { actor: 'ada' })).rejects.toMatchObject({ code: 'DELIVERIES_STATE' });
  expect(await statusOf(id)).toBe('cancelled');
});

it('is recorded at once, also where other channels’ keys wait for the commit, under an id of the caller’s own', async () => {
  app = await startDeliveriesApp(database.url, [Letters], { run: [] });
  const channel = channels().open(options, new Post());
  const id = v7();
  const states = await app.recorder.transaction(async (tx) => {
    const kept = await app.recorder.enqueue(tx, Letters, { ...letter('a'), dedupeKey: 'k' });
    const draft = { ...parcel, id, dedupeKey: 'k', dedupeDigest: 'd' };
    // As they were before the commit: what waits for it would be brought up to date.
    const first = { ...(await channel.enqueue(tx, draft)) };
    return [kept.state, first, { ...(await channel.enqueue(tx, { ...draft, id: v7() })) }];
  });
  expect(states).toEqual([
    'deferred',
    { id, channel: 'parcels', state: 'inserted' },
    { id, channel: 'parcels', state: 'duplicate' },
  ]);
  // An id that is not new, or not in time order, is no id of ours.
  for (const bad of [v4(), id.toUpperCase(), 'x', 7 as unknown as string]) {
    const enqueue = app.dataSource.transaction((tx) => channel.enqueue(tx, { ...parcel, id: bad }));
    await expect(enqueue).rejects.toMatchObject({ code: 'DELIVERIES_INVALID_DRAFT', path: 'id' });
  }
});

it('where options say what a process runs, its workers start only if it says so itself; by hand it sends in any case', async () => {
  app = await startDeliveriesApp(database.url, [Letters], { run: ['letters'] });
  const post = new Post();
  const idle = channels().open(options, post);
  const { id } = await app.dataSource.transaction((tx) => idle.enqueue(tx, parcel));
  expect(app.workers.pulses().map(({ channel }) => channel)).toEqual(['letters']);
  expect(await idle.sendNext()).toMatchObject({
    delivery: { id },
    settlement: { status: 'succeeded' },
    result: 'settled',
  });
  expect(await statusOf(id)).toBe('succeeded');
  expect(await idle.sendNext()).toBeUndefined();
  channels().open({ ...options, name: 'busy', workers: 1 }, post);
  expect(app.workers.pulses().map(({ channel }) => channel)).toEqual(['letters', 'busy']);
});

it('by hand: one that is to be retried, and one that is cancelled while it is being sent', async () => {
  app = await startDeliveriesApp(database.url, [], { run: [] });
  const sending = gate();
  const held: boolean[] = [];
  const post = new Post(async (attempt) => {
    held.push(await attempt.isHeld());
    // Of a backoff with full jitter nobody knows whether it is over.
    if (attempt.number === 1) return retry('503', { retryAfter: 3_600_000 });
    sending.open();
    await cancelled.passed;
    held.push(await attempt.isHeld());
    return succeeded();
  });
  const cancelled = gate();
  const channel = channels().open(options, post);
  const { id } = await app.dataSource.transaction((tx) => channel.enqueue(tx, parcel));
  expect(await channel.sendNext()).toMatchObject({ settlement: { status: 'pending' }, result: 'settled' });
  expect(await channel.sendNext()).toBeUndefined();
  await database.query('UPDATE deliveries.deliveries SET due_at = clock_timestamp()');
  const second = channel.sendNext();
  await sending.passed;
  await app.operations.cancel(id, { actor: 'ada' });
  cancelled.open();
  expect(await second).toMatchObject({ settlement: { status: 'succeeded' }, result: 'lost' });
  expect(await statusOf(id)).toBe('cancelled');
  expect(held).toEqual([true, true, false]);
});

it('an attempt whose lease or deadline is over by the database’s clock is not held any more', async () => {
  app = await startDeliveriesApp(database.url, [], { run: [] });
  const held: boolean[] = [];
  const over = ['lease_expires_at', 'deadline'];
  const post = new Post(async (attempt) => {
    await database.query(
      `UPDATE deliveries.deliveries SET ${over[held.length]} = clock_timestamp() - interval '1 ms' WHERE claim_token IS NOT NULL`,
    );
    held.push(await attempt.isHeld());
    return failed('over');
  });
  const channel = channels().open(options, post);
  for (const _ of over) {
    await app.dataSource.transaction((tx) => channel.enqueue(tx, parcel));
    await channel.sendNext();
  }
  expect(held).toEqual([false, false]);
});
