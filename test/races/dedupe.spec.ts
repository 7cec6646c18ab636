import {
  DedupeConflictError,
  DedupeUnsettledError,
  DeliveryChannel,
  succeeded,
  type ChannelHandler,
  type Delivery,
  type DeliveryDraft,
  type DeliveryEvent,
  type Outcome,
  type RecordedDelivery,
} from 'nest-deliveries';
import type { EntityManager, QueryRunner } from 'typeorm';
import {
  Letters,
  backendPid,
  gate,
  letter,
  lettersWritten,
  untilBlocked,
  type Addressee,
  type Letter,
} from '../deliveries/letters';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

type Draft = DeliveryDraft<Letter, Addressee>;

/** Asks for a note under the key `k` when an event is about both channels. */
@DeliveryChannel({ name: 'notes', maxAge: '1d' })
class Notes implements ChannelHandler<string> {
  readonly arrived: string[] = [];
  deliveries({ type }: DeliveryEvent): DeliveryDraft<string>[] {
    return type === 'both' ? [{ destination: 'a desk', payload: 'note', dedupeKey: 'k' }] : [];
  }
  send({ payload }: Delivery<string>): Promise<Outcome> {
    this.arrived.push(payload);
    return Promise.resolve(succeeded());
  }
}

let database: TestDatabase;
/** Only records: what a test finds in the tables is what was recorded. */
let app: DeliveriesApp;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query('CREATE TABLE orders (id int PRIMARY KEY)');
  app = await startDeliveriesApp(database.url, [Letters, Notes], { workers: 0 });
});

afterEach(async () => {
  await Promise.allSettled(parties.splice(0).map((party) => party.rollback()));
  app.module.get(Letters).fanOut = lettersWritten;
  await database.query('TRUNCATE deliveries.deliveries, deliveries.delivery_attempts, deliveries.events, orders');
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

const once = (key: string, text = 'a', digest?: string): Draft => ({
  ...letter(text),
  dedupeKey: key,
  ...(digest === undefined ? {} : { dedupeDigest: digest }),
});
const enqueue = (tx: EntityManager | QueryRunner, draft: Draft): Promise<RecordedDelivery> =>
  app.recorder.enqueue(tx, Letters, draft);
const enqueueAll = (tx: EntityManager | QueryRunner, ...drafts: Draft[]): Promise<RecordedDelivery[]> =>
  app.recorder.enqueue(tx, Letters, drafts);
/** Commits one delivery. */
const commit = (draft: Draft): Promise<RecordedDelivery> => app.dataSource.transaction((tx) => enqueue(tx, draft));
const stored = (): Promise<{ id: string; key: string; text: string }[]> =>
  database.query(
    `SELECT id, dedupe_key AS key, payload->>'text' AS text FROM deliveries.deliveries ORDER BY dedupe_key, id`,
  );
const countOf = async (table: 'deliveries' | 'events'): Promise<number> =>
  (await database.query(`SELECT FROM deliveries.${table}`)).length;

/** What a promise rejects with; undefined when it does not. */
const thrownBy = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

class Changed extends Error {}

/** A transaction that a test drives step by step. */
interface Party {
  readonly tx: EntityManager;
  readonly pid: number;
  readonly commit: () => Promise<void>;
  readonly rollback: () => Promise<void>;
}
const parties: Party[] = [];

async function begin(owner: 'dataSource' | 'recorder' = 'dataSource', isolation?: 'REPEATABLE READ'): Promise<Party> {
  const begun = gate();
  const decided = gate();
  let given!: EntityManager;
  let back = false;
  const work = async (tx: EntityManager): Promise<void> => {
    given = tx;
    begun.open();
    await decided.passed;
    if (back) throw new Changed();
  };
  const ended = (
    owner === 'recorder'
      ? app.recorder.transaction(work, isolation ? { isolation } : {})
      : app.dataSource.transaction(isolation ?? 'READ COMMITTED', work)
  ).catch((error: unknown) => (error instanceof Changed ? undefined : Promise.reject(error as Error)));
  ended.catch(() => undefined);
  await begun.passed;
  const party: Party = {
    tx: given,
    pid: await backendPid(given),
    commit: () => (decided.open(), ended),
    rollback: () => ((back = true), decided.open(), ended),
  };
  parties.push(party);
  return party;
}

describe('one key, one transaction after the other', () => {
  it('inserts once and answers with the first id as long as the first is retained, whatever became of it', async () => {
    const first = await commit(once('k'));
    expect(first.state).toBe('inserted');
    for (const status of ['pending', 'succeeded', 'failed', 'cancelled']) {
      await database.query('UPDATE deliveries.deliveries SET status = $1', [status]);
      expect(await commit(once('k'))).toEqual({ id: first.id, channel: 'letters', state: 'duplicate' });
    }
    expect(await stored()).toEqual([{ id: first.id, key: 'k', text: 'a' }]);
    await database.query('DELETE FROM deliveries.deliveries');
    expect((await commit(once('k', 'b'))).state).toBe('inserted');
  });

  it('writes no event for an enqueue that inserts nothing, and keeps the event that record is told', async () => {
    await commit(once('k'));
    await commit(once('k'));
    expect(await countOf('events')).toBe(1);
    app.module.get(Letters).fanOut = () => [once('k')];
    const { deliveries } = await app.dataSource.transaction((tx) => app.recorder.record(tx, { type: 'again' }));
    expect(deliveries.map(({ state }) => state)).toEqual(['duplicate']);
    expect(await countOf('events')).toBe(2);
  });

  it('compares payloads as JSON values: neither the order of keys nor the way a number is written counts', async () => {
    const ordered = { ...once('k'), payload: { text: 'a', page: 1, of: { b: 2, a: 1 } } };
    const shuffled = { ...once('k'), payload: { of: { a: 1, b: 2 }, page: 1.0, text: 'a' } };
    const { id } = await commit(ordered);
    expect(await commit(shuffled)).toMatchObject({ id, state: 'duplicate' });
  });

  it.each([
    ['another payload', once('k', 'a'), once('k', 'b')],
    ['another digest', once('k', 'a', 'one'), once('k', 'a', 'two')],
    ['a digest where the first had none', once('k', 'a'), once('k', 'a', 'one')],
    ['no digest where the first had one', once('k', 'a', 'one'), once('k', 'a')],
  ])('is a conflict with %s, and leaves the transaction usable', async (_, first, second) => {
    const { id } = await commit(first);
    await app.dataSource.transaction(async (tx) => {
      await tx.query('INSERT INTO orders VALUES (1)');
      const call = enqueue(tx, second);
      await expect(call).rejects.toThrow(DedupeConflictError);
      await expect(call).rejects.toMatchObject({ channel: 'letters', dedupeKey: 'k', deliveryId: id });
      await enqueue(tx, once('other'));
    });
    expect((await stored()).map(({ key }) => key)).toEqual(['k', 'other']);
    expect(await database.query('SELECT id FROM orders')).toEqual([{ id: 1 }]);
    expect(await countOf('events')).toBe(2);
  });

  it('takes the same digest for the same content, however the sealed payloads differ', async () => {
    const { id } = await commit(once('k', 'sealed once', 'digest'));
    expect(await commit(once('k', 'sealed twice', 'digest'))).toMatchObject({ id, state: 'duplicate' });
  });

  it('neither quotes the key nor the payload in the message of a conflict', async () => {
    await commit(once('order of jane@example.test', 'a'));
    const error = await commit(once('order of jane@example.test', 'secret')).catch((thrown: Error) => thrown);
    expect((error as Error).message).toMatch(
      /^Channel "letters" already has delivery [-\da-f]{36} under this dedupeKey/,
    );
    expect((error as Error).message).not.toMatch(/jane|secret/);
  });
});

describe('several in one call', () => {
  it('takes the second of two equal ones for a duplicate of the first', async () => {
    const recorded = await app.dataSource.transaction((tx) => enqueueAll(tx, once('k'), once('j'), once('k')));
    expect(recorded.map(({ state }) => state)).toEqual(['inserted', 'inserted', 'duplicate']);
    expect(recorded[2]?.id).toBe(recorded[0]?.id);
    expect(await stored()).toHaveLength(2);
  });

  it.each([
    ['in the call itself', async () => undefined, [once('a'), once('k'), letter('plain'), once('z'), once('k', 'b')]],
    ['with one that is retained', () => commit(once('k', 'b')), [once('a'), letter('plain'), once('k'), once('z')]],
  ])('leaves nothing of the call when one of them is a conflict %s', async (_, prepare, drafts) => {
    await prepare();
    const before = [await stored(), await countOf('events')];
    app.module.get(Letters).fanOut = () => drafts;
    await app.dataSource.transaction(async (tx) => {
      await expect(enqueueAll(tx, ...drafts)).rejects.toThrow(DedupeConflictError);
      await expect(app.recorder.record(tx, { type: 'conflicting' })).rejects.toThrow(DedupeConflictError);
      await tx.query('INSERT INTO orders VALUES (1)');
    });
    expect([await stored(), await countOf('events')]).toEqual(before);
    expect(await database.query('SELECT FROM orders')).toHaveLength(1);
    // The keys of the refused call are free.
    expect(await commit(once('z', 'other'))).toMatchObject({ state: 'inserted' });
  });

  it('takes back nothing but its own when a conflict is met while the caller’s other calls are under way', async () => {
    await commit(once('k', 'first'));
    await app.dataSource.transaction(async (tx) => {
      const results = await Promise.allSettled([
        enqueueAll(tx, once('a'), once('k', 'second')),
        enqueueAll(tx, once('b'), once('c')),
        tx.query('INSERT INTO orders VALUES (1)'),
        enqueue(tx, letter('plain')),
      ]);
      expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
    });
    expect((await stored()).map(({ key }) => key)).toEqual(['b', 'c', 'k', null]);
    expect(await database.query('SELECT id FROM orders')).toEqual([{ id: 1 }]);
  });
});

describe('one key, two transactions at once', () => {
  const races = (['dataSource', 'recorder'] as const).flatMap((owner) =>
    ['the holder', 'the waiter'].flatMap((began) =>
      (['commit', 'rollback'] as const).map((end) => ({ owner, began, end })),
    ),
  );

  it.each(races)('$owner.transaction; $began began first; the holder ends with $end', async ({ owner, began, end }) => {
    let holder: Party, waiter: Party;
    if (began === 'the holder') {
      holder = await begin();
      waiter = await begin(owner);
    } else {
      waiter = await begin(owner);
      holder = await begin();
    }
    const held = await enqueue(holder.tx, once('k'));
    const waiting = enqueue(waiter.tx, once('k'));
    // recorder.transaction meets the key at its commit, dataSource.transaction at once
    const ended = owner === 'recorder' ? waiting.then(() => waiter.commit()) : undefined;
    await untilBlocked(database, waiter.pid);
    await holder[end]();
    const recorded = await waiting;
    await (ended ?? waiter.commit());
    const isTheHolders = recorded.id === held.id;
    expect([recorded.state, isTheHolders]).toEqual(end === 'commit' ? ['duplicate', true] : ['inserted', false]);
    expect((await stored()).map(({ id }) => id)).toEqual([recorded.id]);
  });

  it('is a conflict for the waiter when the holder commits other content, and its transaction stays usable', async () => {
    const holder = await begin();
    const waiter = await begin();
    await enqueue(holder.tx, once('k', 'first'));
    const waiting = enqueueAll(waiter.tx, once('a'), once('k', 'second'));
    const refused = thrownBy(waiting);
    await untilBlocked(database, waiter.pid);
    await holder.commit();
    expect(await refused).toBeInstanceOf(DedupeConflictError);
    await enqueue(waiter.tx, once('b'));
    await waiter.commit();
    expect((await stored()).map(({ key, text }) => `${key} ${text}`)).toEqual(['b a', 'k first']);
  });

  it('rolls recorder.transaction back when the conflict shows at its commit', async () => {
    const holder = await begin();
    const waiter = await begin('recorder');
    await enqueue(holder.tx, once('k', 'first'));
    await waiter.tx.query('INSERT INTO orders VALUES (1)');
    expect(await enqueue(waiter.tx, once('k', 'second'))).toMatchObject({ state: 'deferred' });
    const refused = thrownBy(waiter.commit());
    await untilBlocked(database, waiter.pid);
    await holder.commit();
    expect(await refused).toBeInstanceOf(DedupeConflictError);
    expect((await stored()).map(({ text }) => text)).toEqual(['first']);
    expect(await database.query('SELECT FROM orders')).toEqual([]);
    expect(await countOf('events')).toBe(1);
  });

  it('inserts when the holder cleaned the key up meanwhile', async () => {
    const first = await commit(once('k'));
    const cleaner = await begin();
    await cleaner.tx.query('DELETE FROM deliveries.deliveries');
    const waiter = await begin();
    const waiting = enqueue(waiter.tx, once('k', 'new'));
    await untilBlocked(database, waiter.pid);
    await cleaner.commit();
    const recorded = await waiting;
    await waiter.commit();
    expect(recorded.state).toBe('inserted');
    expect(recorded.id).not.toBe(first.id);
    expect((await stored()).map(({ text }) => text)).toEqual(['new']);
  });

  /** Runs `before` and `after` around each statement that inserts, and so `after` before the look at who holds the keys. */
  function aroundEachInsert(tx: EntityManager, before: () => Promise<unknown>, after: () => Promise<unknown>): void {
    const runner = tx.queryRunner!;
    const query = runner.query.bind(runner) as (...parameters: unknown[]) => Promise<never>;
    runner.query = async (...parameters: unknown[]): Promise<never> => {
      const inserts = (parameters[0] as string).includes('ON CONFLICT');
      if (inserts) await before();
      const answer = await query(...parameters);
      if (inserts) await after();
      return answer;
    };
  }

  it('tries again when the row in the way was cleaned up between the insert and the look at it', async () => {
    const first = await commit(once('k'));
    const { tx, commit: end } = await begin();
    const cleanUp = () => database.query('DELETE FROM deliveries.deliveries WHERE id = $1', [first.id]);
    aroundEachInsert(tx, () => Promise.resolve(), cleanUp);
    const recorded = await enqueueAll(tx, once('j'), once('k', 'new'));
    await end();
    expect(recorded.map(({ state }) => state)).toEqual(['inserted', 'inserted']);
    expect((await stored()).map(({ text }) => text)).toEqual(['a', 'new']);
  });

  it('gives up with an error after twenty rows in the way that each vanished, and takes its own back', async () => {
    const { tx, commit: end } = await begin();
    let count = 0;
    const takeKey = (): Promise<unknown> => commit(once('k', `another ${(count += 1)}`));
    aroundEachInsert(tx, takeKey, () => database.query(`DELETE FROM deliveries.deliveries WHERE dedupe_key = 'k'`));
    const call = enqueueAll(tx, once('j'), once('k', 'mine'));
    await expect(call).rejects.toThrow(DedupeUnsettledError);
    await expect(call).rejects.toThrow(/taken and given up 20 times while it was recorded\. Try again\.$/);
    await end();
    expect(count).toBe(20);
    expect(await stored()).toEqual([]);
  });
});

describe('several keys, two transactions at once', () => {
  it('cannot deadlock in recorder.transaction, whatever the order of the calls', async () => {
    const one = await begin('recorder');
    const two = await begin('recorder');
    const ofOne = [await enqueue(one.tx, once('j'))];
    const ofTwo = [await enqueue(two.tx, once('k'))];
    ofOne.push(await enqueue(one.tx, once('k')));
    ofTwo.push(await enqueue(two.tx, once('j')));
    await Promise.all([one.commit(), two.commit()]);
    expect([ofOne, ofTwo].map((recorded) => new Set(recorded.map(({ state }) => state)))).toEqual(
      expect.arrayContaining([new Set(['inserted']), new Set(['duplicate'])]),
    );
    expect(ofOne.map(({ id }) => id).toSorted()).toEqual(ofTwo.map(({ id }) => id).toSorted());
    expect(await stored()).toHaveLength(2);
  });

  it('cannot deadlock between two single calls: each takes its keys in order', async () => {
    const blocker = await begin();
    await enqueue(blocker.tx, once('k'));
    const one = await begin();
    const two = await begin();
    const ofOne = enqueueAll(one.tx, once('j'), once('k'), once('m'));
    await untilBlocked(database, one.pid);
    // One has j and waits for k. If two took m before it waits for j, one could never get m.
    const ofTwo = enqueueAll(two.tx, once('m'), once('j'));
    await untilBlocked(database, two.pid);
    await blocker.rollback();
    expect((await ofOne).map(({ state }) => state)).toEqual(['inserted', 'inserted', 'inserted']);
    await one.commit();
    expect((await ofTwo).map(({ state }) => state)).toEqual(['duplicate', 'duplicate']);
    await two.commit();
    expect(await stored()).toHaveLength(3);
  });

  it('holds no key during the work of recorder.transaction, so that others are not kept waiting', async () => {
    const slow = await begin('recorder');
    const deferred = await enqueue(slow.tx, once('k'));
    expect(deferred.state).toBe('deferred');
    const quick = await commit(once('k'));
    await slow.commit();
    expect(deferred).toMatchObject({ id: quick.id, state: 'duplicate' });
  });
});

describe('a caller in REPEATABLE READ', () => {
  it('finds what its snapshot sees', async () => {
    const { id } = await commit(once('k'));
    const { tx, commit: end } = await begin('dataSource', 'REPEATABLE READ');
    expect(await enqueue(tx, once('k'))).toMatchObject({ id, state: 'duplicate' });
    await expect(enqueue(tx, once('k', 'b'))).rejects.toThrow(DedupeConflictError);
    await end();
    expect(await stored()).toHaveLength(1);
  });

  it.each(['dataSource', 'recorder'] as const)(
    'gets a serialization failure for a key that was committed after its snapshot, as for any row (%s)',
    async (owner) => {
      const { tx, commit: end } = await begin(owner, 'REPEATABLE READ');
      await tx.query('SELECT FROM deliveries.events');
      await commit(once('k'));
      const call = enqueue(tx, once('k'));
      // 40001, upon which such a caller starts again anyway; nothing is inserted twice
      await expect(owner === 'recorder' ? end() : call).rejects.toMatchObject({ code: '40001' });
      await call.catch(() => undefined);
      await end().catch(() => undefined);
      expect(await stored()).toHaveLength(1);
    },
  );
});

it('keeps the keys of one channel apart from those of another', async () => {
  app.module.get(Letters).fanOut = () => [once('k', 'letter')];
  const { deliveries } = await app.recorder.transaction((tx) => app.recorder.record(tx, { type: 'both' }));
  expect(deliveries.map(({ channel, state }) => `${channel} ${state}`).toSorted()).toEqual([
    'letters inserted',
    'notes inserted',
  ]);
});
