import { retry, succeeded } from 'nest-deliveries';
import { Client } from 'pg';
import { Settler } from '../../libs/deliveries/src/settle/settler';
import { gate, until } from '../faults/support/facts';
import { type Line, lineTo } from '../faults/support/line';
import { attemptsOf, makeDue, rowOf, rowsOf } from '../faults/support/rows';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { blockSettles, type SettleBlock } from './support/settle-block';
import { cancel } from './support/operator';
import {
  arrived,
  commit,
  draft,
  everyKeyWasLookedAt,
  type Parcel,
  type Receiver,
  receiver,
  parcels,
  unordered,
} from './support/parcels';

let database: TestDatabase;
let apps: DeliveriesApp[] = [];
let line: Line | undefined;
let block: SettleBlock | undefined;
let others: Client[] = [];
let polls = true;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await block?.release();
  await Promise.all(others.map((other) => other.end()));
  line?.thaw();
  await Promise.all(apps.map((app) => app.close()));
  await line?.close();
  apps = [];
  others = [];
  line = block = undefined;
  await database.drop();
});

async function start(to: Receiver, options: Parameters<typeof startDeliveriesApp>[2] = {}): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(database.url, [to.channel], options);
  polls = options.pollInterval !== chainAlone.pollInterval;
  apps.push(app);
  return app;
}

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: database.url });
  await client.connect();
  others.push(client);
  return client;
}

const settledAs = (id: string, status: string): Promise<unknown> =>
  until(`it is ${status}`, async () => (await rowOf(database, id)).status === status);

/** Answers "wait" when the gate opens. */
function waitingReceiver(options: Parameters<typeof receiver>[0] = {}): { to: Receiver; answer: () => void } {
  const to = receiver({ workers: 1, sendTimeout: '20s', lease: '60s', ...options });
  const { passed, open } = gate();
  to.on('wait', async () => {
    await passed;
    return succeeded();
  });
  return { to, answer: open };
}

/** No poll, and nobody who wakes a worker: only a settle finds what comes next. */
const chainAlone = { pollInterval: '1h' } as const;

/** Settles claim nothing: only a poll finds what comes next. */
function pollAlone(): { pollInterval: number } {
  // oxlint-disable-next-line typescript/unbound-method -- called with the spied object as its `this`
  const { settle } = Settler.prototype;
  jest.spyOn(Settler.prototype, 'settle').mockImplementation(function drop(this: Settler, outcome, onSettled) {
    settle.call(this, { ...outcome, chainLease: undefined }, onSettled);
  });
  return { pollInterval: 50 };
}

/** The worker has claimed for the last time before somebody wakes it: its slots are free, and it does not look. */
async function untilIdle(app: DeliveriesApp, to: Receiver): Promise<void> {
  const id = (await commit(app, to, undefined, { n: 0 }))[0]!;
  app.workers.wake();
  await settledAs(id, 'succeeded');
}

/** A delivery of key "a" is in flight, and no worker looks for another. */
async function headInFlight(app: DeliveriesApp, to: Receiver): Promise<string> {
  await untilIdle(app, to);
  const [head] = await commit(app, to, 'a', { n: 1, script: 'wait' });
  app.workers.wake();
  await until('it is in flight', () => to.inFlight().length === 1);
  if (!polls) await until('no worker asks any more', areSilent);
  return head!;
}

/** Where nobody polls: no connection of a worker has begun or ended a statement for a while, so the last claim is over. */
async function areSilent(): Promise<boolean> {
  const [row] = await database.query<{ silent: boolean }>(
    `SELECT bool_and(state = 'idle' AND state_change < clock_timestamp() - interval '100 ms') AS silent
       FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'nest-deliveries'`,
  );
  return row!.silent;
}

describe('a delivery committed while its predecessor settles', () => {
  describe('just before the settle looks', () => {
    /** The settle is on its way to PostgreSQL; then the next delivery is committed; then the settle arrives. */
    async function race(
      options: Parameters<typeof startDeliveriesApp>[2],
    ): Promise<{ to: Receiver; heads: () => number }> {
      line = await lineTo(database.url);
      const { to, answer } = waitingReceiver();
      const app = await start(to, { ...options, connection: line.connection });
      await headInFlight(app, to);
      const onItsWay = line.freezeAfter((chunk, from) => from === 'client' && chunk.includes('deliveries_settle'));
      answer();
      await onItsWay;
      await commit(app, to, 'a', { n: 2 });
      const heads = line.count('deliveries_heads');
      line.thaw();
      return { to, heads };
    }

    it('is sent by the settle alone', async () => {
      const { to, heads } = await race(chainAlone);
      await arrived(to, 'a', 1, 2);
      expect(heads()).toBe(0);
    });

    it('is sent by the poll alone', async () => {
      const { to } = await race(pollAlone());
      await arrived(to, 'a', 1, 2);
      expect(to.mostInFlightOfAKey()).toBe(1);
    });
  });

  describe('just after the settle has looked', () => {
    /** The settle has its snapshot and is under way; then the next delivery is committed; then the settle commits. */
    async function race(
      options: Parameters<typeof startDeliveriesApp>[2],
    ): Promise<{ app: DeliveriesApp; to: Receiver }> {
      const { to, answer } = waitingReceiver();
      const app = await start(to, options);
      const head = await headInFlight(app, to);
      block = await blockSettles(database, head);
      answer();
      await block.reached;
      await commit(app, to, 'a', { n: 2 });
      await block.release();
      await settledAs(head, 'succeeded');
      return { app, to };
    }

    it('waits for the next look when there is no poll: the settle neither sees it nor passes over it', async () => {
      const { app, to } = await race(chainAlone);
      await commit(app, to, 'a', { n: 3 });
      expect(to.of('a')).toEqual([1]);
      app.workers.wake();
      await arrived(to, 'a', 1, 2, 3);
    });

    it('is sent by the poll alone', async () => {
      const { to } = await race(pollAlone());
      await arrived(to, 'a', 1, 2);
      expect(to.mostInFlightOfAKey()).toBe(1);
    });

    it('is sent by both together', async () => {
      const { to } = await race({});
      await arrived(to, 'a', 1, 2);
      expect(to.mostInFlightOfAKey()).toBe(1);
    });
  });

  it('by a transaction that stays open delays neither the settle nor another key', async () => {
    const { to, answer } = waitingReceiver();
    const app = await start(to);
    const head = await headInFlight(app, to);
    const commits = gate();
    const inserted = gate();
    const open = app.dataSource.transaction(async (tx) => {
      await app.recorder.enqueue(tx, to.channel, draft('a', { n: 2 }));
      inserted.open();
      await commits.passed;
    });
    await inserted.passed;
    answer();
    await settledAs(head, 'succeeded');
    await commit(app, to, 'b', ...parcels(3));
    await arrived(to, 'b', 1, 2, 3);
    expect(to.of('a')).toEqual([1]);
    commits.open();
    await open;
    await arrived(to, 'a', 1, 2);
  });
});

describe('the next of a key', () => {
  it('that somebody holds locked is not passed over', async () => {
    const { to, answer } = waitingReceiver();
    const app = await start(to);
    const head = await headInFlight(app, to);
    const [second] = await commit(app, to, 'a', { n: 2 }, { n: 3 });
    const somebody = await connect();
    await somebody.query('BEGIN');
    await somebody.query('SELECT FROM deliveries.deliveries WHERE id = $1 FOR UPDATE', [second]);
    answer();
    await settledAs(head, 'succeeded');
    await everyKeyWasLookedAt(app, to);
    expect(to.of('a')).toEqual([1]);
    await somebody.query('COMMIT');
    await arrived(to, 'a', 1, 2, 3);
    expect(to.mostInFlightOfAKey()).toBe(1);
  });

  it('that is cancelled between the look of the settle and its lock is not sent, and nothing is lost', async () => {
    const { to, answer } = waitingReceiver();
    const app = await start(to, chainAlone);
    const head = await headInFlight(app, to);
    const [second] = await commit(app, to, 'a', { n: 2 }, { n: 3 });
    block = await blockSettles(database, head);
    answer();
    await block.reached;
    await cancel(app, second!);
    await block.release();
    await settledAs(head, 'succeeded');
    // The cancel woke the workers: they may have found the third by now, or find it when they are woken again.
    app.workers.wake();
    await arrived(to, 'a', 1, 3);
    expect(await rowOf(database, second!)).toMatchObject({ status: 'cancelled', attempts: 0, lease_expires_at: null });
  });

  it('is the one behind those that were cancelled before', async () => {
    const { to, answer } = waitingReceiver();
    const app = await start(to, chainAlone);
    await headInFlight(app, to);
    const [second] = await commit(app, to, 'a', { n: 2 }, { n: 3 });
    await cancel(app, second!);
    answer();
    await arrived(to, 'a', 1, 3);
    expect((await rowOf(database, second!)).attempts).toBe(0);
  });

  it.each([
    ['is not due yet', `due_at = clock_timestamp() + interval '1 hour'`],
    ['has failed', `status = 'failed', settled_at = clock_timestamp()`],
    ['has crashed before', 'crashes = 1'],
  ])('is not claimed by the settle when it %s, nor is what comes after it', async (_, state) => {
    const { to, answer } = waitingReceiver();
    const app = await start(to, chainAlone);
    const head = await headInFlight(app, to);
    const [second] = await commit(app, to, 'a', { n: 2 }, { n: 3 });
    await database.query(`UPDATE deliveries.deliveries SET ${state} WHERE id = $1`, [second]);
    answer();
    await settledAs(head, 'succeeded');
    expect(await rowOf(database, second!)).toMatchObject({ claim_token: null, attempts: 0 });
    await database.query(
      `UPDATE deliveries.deliveries SET status = 'pending', settled_at = NULL, due_at = clock_timestamp() WHERE id = $1`,
      [second],
    );
    app.workers.wake();
    await arrived(to, 'a', 1, 2, 3);
  });

  it('is not claimed after anything but a success', async () => {
    const { passed, open } = gate();
    const to = receiver({ retry: { first: '1h', max: '1h' } });
    to.on('wait', async () => {
      await passed;
      return retry(503);
    });
    const app = await start(to);
    const head = await headInFlight(app, to);
    const waiting = await commit(app, to, 'a', { n: 2 }, { n: 3 });
    open();
    await until('it backs off', async () => (await attemptsOf(database, head)).length === 1);
    await everyKeyWasLookedAt(app, to);
    expect((await rowsOf(database, waiting)).map(({ attempts }) => attempts)).toEqual([0, 0]);
    to.on('wait', () => succeeded());
    await makeDue(database, head);
    await arrived(to, 'a', 1, 1, 2, 3);
  });
});

it('a shut-down gives back, without an attempt, what a settle claims after it began', async () => {
  const { to, answer } = waitingReceiver();
  const app = await start(to);
  const head = await headInFlight(app, to);
  const [second, third] = await commit(app, to, 'a', { n: 2 }, { n: 3 });
  const { due_at: due } = await rowOf(database, second!);
  block = await blockSettles(database, head);
  answer();
  await block.reached;
  apps = [];
  const closed = app.close();
  await block.release();
  await closed;
  expect((await rowOf(database, head)).status).toBe('succeeded');
  expect(await rowsOf(database, [second!, third!])).toMatchObject(
    [due, expect.any(Date) as Date].map((due_at) => ({
      status: 'pending',
      attempts: 0,
      claim_token: null,
      lease_expires_at: null,
      due_at,
    })),
  );
  expect(to.of('a')).toEqual([1]);
  await start(to);
  await arrived(to, 'a', 1, 2, 3);
  expect(to.arrivals.filter(({ key }) => key === 'a').map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
});

it('a long key and what has no key share one slot: neither waits for the end of the other', async () => {
  const to = receiver({ workers: 1, concurrency: 1 });
  const slow: Parcel['script'] = 'slow';
  // 20 ms each: 60 of them are longer than the second for which a key keeps its slot.
  to.on(slow, () => new Promise((resolve) => void setTimeout(() => resolve(succeeded()), 20)));
  const app = await start(to, { run: [] });
  await commit(app, to, 'a', ...Array.from({ length: 60 }, (_, index) => ({ n: index + 1, script: slow })));
  await commit(app, to, 'b', ...Array.from({ length: 60 }, (_, index) => ({ n: index + 1, script: slow })));
  await commit(app, to, undefined, ...Array.from({ length: 10 }, (_, index) => ({ n: index + 1, script: slow })));
  await start(to);
  await until(
    'all have arrived',
    () => to.taken('a').length + to.taken('b').length + to.taken(unordered).length === 130,
  );
  const keys = to.arrivals.map(({ key }) => key);
  // The first of each, in the worst case after both others have had the slot for a second, in which 51 begin at most.
  for (const key of ['a', 'b', unordered]) expect(keys.indexOf(key)).toBeLessThanOrEqual(2 * 52);
  expect(keys.indexOf(unordered)).toBeLessThan(Math.max(keys.lastIndexOf('a'), keys.lastIndexOf('b')));
  // A key that had its second goes on after the other one.
  const turns = keys.filter(
    (key, index) => key !== unordered && key !== keys.slice(0, index).findLast((k) => k !== unordered),
  );
  expect(turns.length).toBeGreaterThanOrEqual(3);
  expect(to.of('a')).toEqual(Array.from({ length: 60 }, (_, index) => index + 1));
  expect(to.of('b')).toEqual(to.of('a'));
});
