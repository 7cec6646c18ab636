import { retry, succeeded } from 'nest-deliveries';
import { Client } from 'pg';
import type { EntityManager } from 'typeorm';
import { gate, until } from '../faults/support/facts';
import { countByStatus, rowsOf } from '../faults/support/rows';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { arrived, commit, draft, type Parcel, type Receiver, receiver, parcels } from './support/parcels';

let database: TestDatabase;
let apps: DeliveriesApp[] = [];
let other: Client | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await other?.end();
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
  other = undefined;
  await database.drop();
});

async function start(to: Receiver, options: Parameters<typeof startDeliveriesApp>[2] = {}): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(database.url, [to.channel], options, 20);
  apps.push(app);
  return app;
}

async function backendOf(tx: EntityManager): Promise<number> {
  const [row] = await tx.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
  return row!.pid;
}

const blocked = (pid: number): Promise<unknown> =>
  until(`backend ${pid} waits for a lock`, async () => {
    const rows = await database.query(`SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'`, [
      pid,
    ]);
    return rows.length === 1;
  });

/** A transaction that records under key `a`, once it waits for a lock. */
async function waiter(app: DeliveriesApp, to: Receiver, parcel: Parcel): Promise<{ ended: Promise<void> }> {
  let pid!: (of: number) => void;
  const backend = new Promise<number>((resolve) => (pid = resolve));
  const ended = app.dataSource.transaction(async (tx) => {
    pid(await backendOf(tx));
    await app.recorder.enqueue(tx, to.channel, draft('a', parcel));
  });
  await blocked(await backend);
  return { ended };
}

it('three transactions arrive as they committed: not as they began, nor as they recorded', async () => {
  const to = receiver();
  const app = await start(to, { run: [] });
  /** A transaction that records `n`, and commits, when it is told to. */
  async function transaction(n: number): Promise<{ record(): Promise<void>; commit(): Promise<void> }> {
    const [begun, records, recorded, commits] = [gate(), gate(), gate(), gate()];
    const done = app.recorder.transaction(async (tx) => {
      await tx.query('SELECT');
      begun.open();
      await records.passed;
      await app.recorder.enqueue(tx, to.channel, draft('a', { n }));
      recorded.open();
      await commits.passed;
    });
    await begun.passed;
    const step = (go: () => void, what: Promise<void>) => (): Promise<void> => {
      go();
      return what;
    };
    return { record: step(records.open, recorded.passed), commit: step(commits.open, done) };
  }
  const first = await transaction(1);
  const second = await transaction(2);
  const third = await transaction(3);
  await second.record();
  await third.record();
  await first.record();
  await third.commit();
  await first.commit();
  await second.commit();
  const ids = await database.query<{ n: number }>(
    `SELECT (payload->>'n')::integer AS n FROM deliveries.deliveries ORDER BY id`,
  );
  expect(ids.map(({ n }) => n)).toEqual([2, 3, 1]);
  await start(to);
  await arrived(to, 'a', 3, 1, 2);
});

it('who comes to a key while a transaction holds it waits for the commit, and arrives after it', async () => {
  const to = receiver();
  const app = await start(to);
  const commits = gate();
  const inserted = gate();
  // The key is known: its last ordinal can be read before the wait for its lock, and must not be used.
  await commit(app, to, 'a', { n: 0 });
  const first = app.dataSource.transaction(async (tx) => {
    await app.recorder.enqueue(tx, to.channel, draft('a', { n: 1 }));
    inserted.open();
    await commits.passed;
    await app.recorder.enqueue(tx, to.channel, draft('a', { n: 2 }));
  });
  await inserted.passed;
  const { ended: second } = await waiter(app, to, { n: 3 });
  commits.open();
  await Promise.all([first, second]);
  await arrived(to, 'a', 0, 1, 2, 3);
  expect(to.mostInFlightOfAKey()).toBe(1);
  expect(await database.query('SELECT ordinal FROM deliveries.deliveries GROUP BY ordinal')).toHaveLength(4);
});

it('who waits for a key that a savepoint had taken goes on when that transaction ends, at the latest', async () => {
  const to = receiver();
  const app = await start(to);
  const [taken, waitedFor] = [gate(), gate()];
  const first = app.dataSource.transaction(async (tx) => {
    await tx.query('SAVEPOINT mine');
    // The inner savepoint is released. PostgreSQL has whoever waits for its rows wait for the whole transaction from then on.
    await tx.transaction((inner) => app.recorder.enqueue(inner, to.channel, draft('a', { n: -1 })));
    taken.open();
    await waitedFor.passed;
    await tx.query('ROLLBACK TO SAVEPOINT mine');
    await app.recorder.enqueue(tx, to.channel, draft('b', { n: 1 }));
  });
  await taken.passed;
  const { ended: second } = await waiter(app, to, { n: 2 });
  waitedFor.open();
  await Promise.all([first, second]);
  await arrived(to, 'a', 2);
  await arrived(to, 'b', 1);
  expect(await database.query('SELECT FROM deliveries.deliveries')).toHaveLength(2);
});

it('what is rolled back, whole or to a savepoint, takes its places back, and a gap changes nothing', async () => {
  const to = receiver();
  const app = await start(to, { run: [] });
  const { channel } = to;
  const undone = (): never => {
    throw new Error('undone');
  };
  for (const within of [
    app.dataSource.transaction.bind(app.dataSource),
    app.recorder.transaction.bind(app.recorder),
  ] as const) {
    const enqueue = (tx: EntityManager, ...ns: number[]): Promise<unknown> =>
      app.recorder.enqueue(
        tx,
        channel,
        ns.map((n) => draft('a', { n })),
      );
    await within(async (tx: EntityManager) => {
      await enqueue(tx, 1);
      await tx.transaction((inner) => enqueue(inner, -1, -2).then(undone)).catch(() => undefined);
      await enqueue(tx, 2, 3);
    });
    await within((tx: EntityManager) => enqueue(tx, -3).then(undone)).catch(() => undefined);
    await within(async (tx: EntityManager) => {
      await tx.query('SAVEPOINT mine');
      await enqueue(tx, -4);
      await tx.query('ROLLBACK TO SAVEPOINT mine');
      await enqueue(tx, 4);
    });
  }
  // A duplicate takes a place and leaves it empty.
  for (const parcel of [{ n: 5 }, { n: 5 }, { n: 6 }]) {
    const once = { ...draft('a', parcel), dedupeKey: `once ${parcel.n}` };
    await app.recorder.transaction((tx) => app.recorder.enqueue(tx, channel, once));
  }
  const [ordinals] = await database.query<{ taken: number; given: number }>(
    'SELECT count(DISTINCT ordinal)::integer AS taken, (max(ordinal) - min(ordinal) + 1)::integer AS given FROM deliveries.deliveries',
  );
  expect(ordinals).toEqual({ taken: 10, given: 11 });
  await start(to);
  await arrived(to, 'a', 1, 2, 3, 4, 1, 2, 3, 4, 5, 6);
});

it('1,000 deliveries over 50 keys, recorded by 24 at a time, arrive in commit order at three replicas', async () => {
  const to = receiver({ concurrency: 20, retry: { first: 10, max: 20 } });
  to.on('busy once', (_, { number }) => (number === 1 ? retry(503) : succeeded()));
  // What the transactions themselves say at the last moment before they commit, whatever ordinals they were given.
  await database.query('CREATE TABLE commits (at bigserial PRIMARY KEY, id uuid NOT NULL)');
  await database.query(`CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO public.commits (id) VALUES (NEW.id); RETURN NULL; END $$`);
  await database.query(`CREATE CONSTRAINT TRIGGER note_commit AFTER INSERT ON deliveries.deliveries
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_commit()`);
  const replicas = await Promise.all([start(to), start(to), start(to)]);

  const total = 1_000;
  let left = total;
  let recorded = 0;
  const random = (below: number): number => Math.floor(Math.random() * below);
  const take = (most: number): number => {
    const count = Math.min(left, 1 + random(most));
    left -= count;
    return count;
  };
  const drafts = (count: number): ReturnType<typeof draft>[] =>
    Array.from({ length: count }, () => {
      recorded += 1;
      const parcel: Parcel = random(20) === 0 ? { n: recorded, script: 'busy once' } : { n: recorded };
      return draft(`key ${random(50)}`, parcel);
    });
  const linger = (tx: EntityManager): Promise<unknown> => tx.query('SELECT pg_sleep(random() * 0.01)');
  class Undone extends Error {}

  /** One transaction of one of three kinds; gives back what it took when it rolls back. */
  async function record({ recorder, dataSource }: DeliveriesApp): Promise<void> {
    const enqueue = (tx: EntityManager, count: number): Promise<unknown> =>
      recorder.enqueue(tx, to.channel, drafts(count));
    const count = take(6);
    const rollsBack = random(8) === 0;
    // Several calls in the order in which they come, which only recorder.transaction allows without deadlocks.
    const deferred = async (tx: EntityManager): Promise<void> => {
      await enqueue(tx, 1);
      await linger(tx);
      if (random(3) === 0) {
        await tx
          .transaction((inner) => enqueue(inner, 2).then(() => Promise.reject(new Undone())))
          .catch(() => undefined);
      }
      if (count > 1) await enqueue(tx, count - 1);
      await linger(tx);
      if (rollsBack) throw new Undone();
    };
    const plain = async (tx: EntityManager): Promise<void> => {
      await linger(tx);
      await enqueue(tx, count);
      await linger(tx);
      if (rollsBack) throw new Undone();
    };
    try {
      await (random(3) === 0 ? dataSource.transaction(plain) : recorder.transaction(deferred));
    } catch (error) {
      if (!(error instanceof Undone)) throw error;
      left += count;
    }
  }
  await Promise.all(
    Array.from({ length: 24 }, async (_, index) => {
      while (left > 0) await record(replicas[index % 3]!);
    }),
  );
  await until('all are sent', async () => (await countByStatus(database))['succeeded'] === total, 30_000);

  const committed = await database.query<{ id: string; key: string; n: number }>(
    `SELECT d.id, d.ordering_key AS key, (d.payload->>'n')::integer AS n
       FROM commits JOIN deliveries.deliveries d USING (id) ORDER BY commits.at`,
  );
  expect(committed).toHaveLength(total);
  const idsOf = (list: readonly { key: string; id: string }[], key: string): string[] =>
    list.filter((one) => one.key === key).map(({ id }) => id);
  const taken = to.arrivals.filter(({ outcome }) => outcome?.type === 'succeeded');
  const first = to.arrivals.filter(({ attempt }) => attempt === 1);
  const byId = committed.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const byRecord = committed.toSorted((a, b) => a.n - b.n);
  let unlikeIds = 0;
  let unlikeRecord = 0;
  for (const key of new Set(committed.map((one) => one.key))) {
    const expected = idsOf(committed, key);
    expect(idsOf(taken, key)).toEqual(expected);
    expect(idsOf(first, key)).toEqual(expected);
    if (idsOf(byId, key).join() !== expected.join()) unlikeIds += 1;
    if (idsOf(byRecord, key).join() !== expected.join()) unlikeRecord += 1;
  }
  expect(to.mostInFlightOfAKey()).toBe(1);
  // Otherwise the test shows nothing.
  expect(unlikeIds).toBeGreaterThan(5);
  expect(unlikeRecord).toBeGreaterThan(5);
}, 60_000);

describe('locks', () => {
  it('a host that keeps the row of a key locked delays nothing that a worker does', async () => {
    const to = receiver();
    const { passed, open } = gate();
    to.on('wait', async () => {
      await passed;
      return succeeded();
    });
    const app = await start(to);
    const ids = await commit(app, to, 'a', ...parcels(4, { 1: 'wait' }));
    await until('the head is in flight', () => to.inFlight().length === 1);
    other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query('BEGIN');
    await other.query(`SELECT FROM deliveries.delivery_orderings WHERE ordering_key = 'a' FOR UPDATE`);
    open();
    await arrived(to, 'a', 1, 2, 3, 4);
    await commit(app, to, 'b', ...parcels(2));
    await arrived(to, 'b', 1, 2);
    await until('all are settled', async () =>
      (await rowsOf(database, ids)).every(({ status }) => status === 'succeeded'),
    );
    expect(await countByStatus(database)).toEqual({ succeeded: 6 });
    await other.query('COMMIT');
  });

  it('two recorders with opposite keys do not wait for each other in a circle', async () => {
    const to = receiver();
    const app = await start(to, { run: [] });
    const [oneHasBoth, otherHasBoth] = [gate(), gate()];
    const inOrder = (
      keys: readonly string[],
      mine: ReturnType<typeof gate>,
      theirs: ReturnType<typeof gate>,
    ): Promise<void> =>
      app.recorder.transaction(async (tx) => {
        for (const [index, key] of keys.entries()) {
          await app.recorder.enqueue(tx, to.channel, draft(key, { n: index }));
        }
        mine.open();
        await theirs.passed;
      });
    await Promise.all([inOrder(['a', 'b'], oneHasBoth, otherHasBoth), inOrder(['b', 'a'], otherHasBoth, oneHasBoth)]);

    // In one call a plain transaction may name them in any order, too. Each is made to stop before its key in the middle.
    other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query('BEGIN');
    await other.query(
      `INSERT INTO deliveries.delivery_orderings VALUES ('parcels', 'middle', 0, 0, clock_timestamp())`,
    );
    const plain = async (keys: readonly string[], onPid: (pid: number) => void): Promise<void> =>
      app.dataSource.transaction(async (tx) => {
        onPid(await backendOf(tx));
        await app.recorder.enqueue(
          tx,
          to.channel,
          keys.map((key, n) => draft(key, { n })),
        );
      });
    const both: Promise<void>[] = [];
    for (const keys of [
      ['a', 'middle', 'z'],
      ['z', 'middle', 'a'],
    ]) {
      let pid!: (of: number) => void;
      const backend = new Promise<number>((resolve) => (pid = resolve));
      both.push(plain(keys, pid));
      await blocked(await backend);
    }
    await other.query('COMMIT');
    await Promise.all(both);
    expect(await countByStatus(database)).toEqual({ pending: 10 });
  });

  it('a settle passes the rows that an operator changes in bulk, and neither waits for the other in a circle', async () => {
    const to = receiver({ workers: 1, concurrency: 40, sendTimeout: '20s', lease: '60s' });
    const { passed, open } = gate();
    to.on('wait', async () => {
      await passed;
      return succeeded();
    });
    const app = await start(to);
    const ids: string[] = [];
    for (let key = 0; key < 40; key += 1) {
      ids.push(...(await commit(app, to, `key ${key}`, { n: 1, script: 'wait' })));
    }
    await until('all are in flight', () => to.inFlight().length === 40);
    const evens = ids.filter((_, index) => index % 2 === 0);
    other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query('BEGIN');
    const bulk = `UPDATE deliveries.deliveries d SET destination = 'changed' FROM
      (SELECT id FROM deliveries.deliveries WHERE id = ANY($1::uuid[]) ORDER BY id FOR UPDATE) chosen WHERE d.id = chosen.id`;
    await other.query(bulk, [evens]);
    open();
    await until('the others are settled', async () => (await countByStatus(database))['succeeded'] === 20);
    await other.query(bulk, [ids]);
    expect(await countByStatus(database)).toEqual({ pending: 20, succeeded: 20 });
    await other.query('COMMIT');
    await until('all are settled', async () => (await countByStatus(database))['succeeded'] === 40);
    expect(to.arrivals).toHaveLength(40);
    // An outcome is counted when the reply to its settle has come, which is later than others can see it.
    await until('all are counted', () => app.tally.of('parcels').succeeded === 40);
    expect(app.tally.of('parcels')).toMatchObject({ succeeded: 40, lease_lost: 0 });
  });
});
