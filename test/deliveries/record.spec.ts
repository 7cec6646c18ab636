import {
  DeliveryChannel,
  InvalidDraftError,
  TransactionRequiredError,
  UnknownChannelError,
  succeeded,
  type ChannelHandler,
  type DeliveryDraft,
  type DeliveryEvent,
  type RecordedEvent,
} from 'nest-deliveries';
import type { Client } from 'pg';
import { DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import {
  Letters,
  claimHasRun,
  gate,
  isProbe,
  letter,
  lettersWritten,
  storedTexts,
  until,
  type Addressee,
  type Letter,
} from './letters';

let database: TestDatabase;
let app: DeliveriesApp;
let letters: Letters;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query(
    'CREATE TABLE orders (id int PRIMARY KEY, parent int REFERENCES orders DEFERRABLE INITIALLY DEFERRED)',
  );
  app = await startDeliveriesApp(database.url, [Letters]);
  letters = app.module.get(Letters);
});

afterEach(async () => {
  letters.fanOut = lettersWritten;
  for (const { id } of await database.query<{ id: string }>('SELECT id FROM deliveries.deliveries')) earlier.add(id);
  await database.query('TRUNCATE deliveries.deliveries, deliveries.events, deliveries.delivery_attempts, orders');
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

const written = (...texts: string[]): DeliveryEvent => ({ type: 'letters_written', payload: texts });
/** Deliveries of the tests before: one of them may still arrive, from a claim that was on its way. */
const earlier = new Set<string>();
const arrived = (): typeof letters.arrived => letters.arrived.filter((each) => !isProbe(each) && !earlier.has(each.id));
const sent = (): string[] => arrived().map(({ payload }) => payload.text);
const orders = async (): Promise<number[]> =>
  (await database.query<{ id: number }>('SELECT id FROM orders ORDER BY id')).map(({ id }) => id);

/** The ways to have a transaction, and what each hands to `record`. */
const waysToTransact = {
  'the EntityManager of dataSource.transaction': (work: (tx: EntityManager | QueryRunner) => Promise<void>) =>
    app.dataSource.transaction(work),
  'the EntityManager of recorder.transaction': (work: (tx: EntityManager | QueryRunner) => Promise<void>) =>
    app.recorder.transaction(work),
  'a QueryRunner': async (work: (tx: EntityManager | QueryRunner) => Promise<void>) => {
    const runner = app.dataSource.createQueryRunner();
    await runner.startTransaction();
    try {
      await work(runner);
      await runner.commitTransaction();
    } catch (error) {
      await runner.rollbackTransaction();
      throw error;
    } finally {
      await runner.release();
    }
  },
};
type Way = keyof typeof waysToTransact;
const ways = Object.keys(waysToTransact) as Way[];

class Changed extends Error {}

describe('commit and rollback', () => {
  it.each(ways)('makes nothing visible and sends nothing before the commit: %s', async (way) => {
    const recorded = gate();
    const mayCommit = gate();
    const transaction = waysToTransact[way](async (tx) => {
      await app.recorder.record(tx, written('a', 'b'));
      await app.recorder.enqueue(tx, Letters, letter('c'));
      await app.recorder.enqueue(tx, Letters, { ...letter('d'), dedupeKey: 'd' });
      recorded.open();
      await mayCommit.passed;
    });
    await recorded.passed;
    await claimHasRun(app);
    await claimHasRun(app);
    expect(await storedTexts(database)).toEqual([]);
    expect(sent()).toEqual([]);

    mayCommit.open();
    await transaction;
    expect(await storedTexts(database)).toEqual(['a', 'b', 'c', 'd']);
    await until('all four arrive', () => sent().length >= 4);
    await claimHasRun(app);
    expect(sent().toSorted()).toEqual(['a', 'b', 'c', 'd']);
  });

  it.each(ways)('leaves nothing behind after a rollback: %s', async (way) => {
    const transaction = waysToTransact[way](async (tx) => {
      await app.recorder.record(tx, written('a', 'b'));
      await app.recorder.enqueue(tx, Letters, { ...letter('c'), dedupeKey: 'c' });
      throw new Changed();
    });
    await expect(transaction).rejects.toThrow(Changed);
    await claimHasRun(app);
    expect(sent()).toEqual([]);
    expect(await storedTexts(database)).toEqual([]);
    expect(await database.query(`SELECT FROM deliveries.events WHERE type = 'letters_written'`)).toEqual([]);
  });

  it.each(ways)('leaves nothing behind when the commit fails: %s', async (way) => {
    const transaction = waysToTransact[way](async (tx) => {
      const manager = 'manager' in tx ? tx.manager : tx;
      await manager.query('INSERT INTO orders (id, parent) VALUES (1, 99)');
      await app.recorder.record(tx, written('a'));
      await app.recorder.enqueue(tx, Letters, { ...letter('b'), dedupeKey: 'b' });
    });
    // 23503: the deferred foreign key, which only the COMMIT checks
    await expect(transaction).rejects.toMatchObject({ code: '23503' });
    await claimHasRun(app);
    expect(sent()).toEqual([]);
    expect(await storedTexts(database)).toEqual([]);
  });

  /** Ways to roll back a part of a transaction. */
  const partsTakenBack = {
    'a nested manager.transaction': (tx: EntityManager, part: () => Promise<void>) =>
      tx
        .transaction(async () => {
          await part();
          throw new Changed();
        })
        .catch((error: unknown) => expect(error).toBeInstanceOf(Changed)),
    'a raw SAVEPOINT': async (tx: EntityManager, part: () => Promise<void>) => {
      await tx.query('SAVEPOINT mine');
      await part();
      await tx.query('ROLLBACK TO SAVEPOINT mine');
    },
  };

  it.each(
    (['dataSource', 'recorder'] as const).flatMap((owner) =>
      (Object.keys(partsTakenBack) as (keyof typeof partsTakenBack)[]).map((part) => [owner, part] as const),
    ),
  )('in %s.transaction drops what was recorded in %s that is rolled back', async (owner, part) => {
    await app[owner].transaction(async (tx: EntityManager) => {
      await app.recorder.record(tx, written('before'));
      await app.recorder.enqueue(tx, Letters, { ...letter('once before'), dedupeKey: 'before' });
      await partsTakenBack[part](tx, async () => {
        await app.recorder.record(tx, written('lost'));
        await app.recorder.enqueue(tx, Letters, { ...letter('once lost'), dedupeKey: 'lost' });
      });
      await app.recorder.enqueue(tx, Letters, { ...letter('once after'), dedupeKey: 'after' });
      await app.recorder.record(tx, written('after'));
    });
    await until('the four others arrive', () => sent().length >= 4);
    await claimHasRun(app);
    const kept = ['after', 'before', 'once after', 'once before'];
    expect(sent().toSorted()).toEqual(kept);
    expect((await storedTexts(database)).toSorted()).toEqual(kept);
  });

  it('keeps what a nested transaction that succeeds recorded', async () => {
    await app.recorder.transaction((tx) =>
      tx.transaction(async (nested) => {
        await app.recorder.record(nested, written('plain'));
        await app.recorder.enqueue(nested, Letters, { ...letter('once'), dedupeKey: 'once' });
      }),
    );
    expect((await storedTexts(database)).toSorted()).toEqual(['once', 'plain']);
  });

  it('of a transaction that cannot even begin, tells why', async () => {
    const gone = await startDeliveriesApp(database.url, [Letters], { workers: 0 });
    await gone.dataSource.destroy();
    const work = jest.fn();
    const call = gone.recorder.transaction(work);
    await expect(call).rejects.toThrow(/not connected/i);
    expect(work).not.toHaveBeenCalled();
    await gone.close();
  });
});

describe('which transactions it takes', () => {
  let other: DataSource;
  beforeAll(async () => {
    other = await new DataSource({ type: 'postgres', url: database.url }).initialize();
  });
  afterAll(() => other.destroy());

  /** The one message with which both calls refuse `tx`; they must not write anything. */
  async function refusal(tx: unknown): Promise<string> {
    const calls = [
      app.recorder.record(tx as EntityManager, written('a')),
      app.recorder.enqueue(tx as EntityManager, Letters, letter('a')),
    ];
    const errors = (await Promise.allSettled(calls)).map((call) => (call as PromiseRejectedResult).reason as Error);
    expect(errors).toEqual([expect.any(TransactionRequiredError), expect.any(TransactionRequiredError)]);
    expect(errors[0]?.message).toBe(errors[1]?.message);
    expect(await storedTexts(database)).toEqual([]);
    return errors[0]!.message;
  }
  const inNone =
    /in none\. Pass the EntityManager that dataSource\.transaction\(async \(tx\) => …\) or recorder\.transaction/;

  it('refuses a manager, a QueryRunner or nothing at all outside a transaction, and says what to pass', async () => {
    const runner = app.dataSource.createQueryRunner();
    expect(await refusal(app.dataSource.manager)).toMatch(inNone);
    expect(await refusal(runner)).toMatch(inNone);
    expect(await refusal(runner.manager)).toMatch(inNone);
    expect(await refusal(undefined)).toMatch(inNone);
    expect(await refusal({})).toMatch(inNone);
    await runner.release();
  });

  it('refuses a transaction that has ended', async () => {
    let kept!: EntityManager;
    await app.dataSource.transaction(async (tx) => {
      kept = tx;
      await tx.query('SELECT 1');
    });
    expect(await refusal(kept)).toMatch(inNone);
    const runner = app.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.rollbackTransaction();
    expect(await refusal(runner)).toMatch(inNone);
    await runner.release();
  });

  it('refuses a QueryRunner that was released in its transaction: the connection is somebody else’s by now', async () => {
    const runner = app.dataSource.createQueryRunner();
    await runner.startTransaction();
    await runner.query('ROLLBACK');
    await runner.release();
    expect(runner.isTransactionActive).toBe(true);
    expect(await refusal(runner)).toMatch(inNone);
  });

  it('refuses a transaction of another DataSource', async () => {
    expect(await other.transaction(refusal)).toMatch(/belongs to another DataSource .* with its option dataSource/);
  });

  it('refuses a class that is not a channel of the application', async () => {
    class Unknown extends Letters {}
    const call = app.dataSource.transaction((tx) => app.recorder.enqueue(tx, Unknown, letter('a')));
    await expect(call).rejects.toThrow(UnknownChannelError);
    await expect(call).rejects.toThrow(/^Unknown is not a channel of this application\. Decorate it/);
  });
});

describe('many at once', () => {
  /** The statements of a transaction, as they go over its connection; without the question that is asked of a new one. */
  async function statementsOf(work: (tx: EntityManager) => Promise<unknown>): Promise<string[]> {
    const statements: string[] = [];
    await app.dataSource.transaction(async (tx) => {
      const client = (await tx.queryRunner!.connect()) as Client;
      const query = client.query.bind(client) as (...given: unknown[]) => unknown;
      const noted = jest.spyOn(client, 'query').mockImplementation((...given: unknown[]) => {
        const [statement] = given as [string | { text: string }];
        statements.push((typeof statement === 'string' ? statement : statement.text).trim());
        return query(...given) as never;
      });
      await work(tx).finally(() => noted.mockRestore());
    });
    return statements.filter((text) => !text.includes('pg_backend_pid()'));
  }

  it('writes a thousand deliveries and their events in one INSERT', async () => {
    const events = Array.from({ length: 10 }, (_, event) =>
      written(...Array.from({ length: 100 }, (__, index) => `${event}-${index}`)),
    );
    let recorded: RecordedEvent[] = [];
    const statements = await statementsOf(async (tx) => {
      recorded = await app.recorder.record(tx, events);
      await tx.query('UPDATE deliveries.deliveries SET due_at = due_at + interval $$1 day$$');
    });
    expect(statements.map((sql) => sql.split(/\s/)[0])).toEqual(['WITH', 'UPDATE']);
    const rows = await database.query<{ id: string; event_id: string; text: string; state: string }>(
      `SELECT d.id, d.event_id, d.payload->>'text' AS text FROM deliveries.deliveries d JOIN deliveries.events e ON e.id = d.event_id ORDER BY d.id`,
    );
    expect(rows).toHaveLength(1_000);
    expect(
      recorded.flatMap(({ eventId, deliveries }) => deliveries.map(({ id, state }) => [id, eventId, state])),
    ).toEqual(rows.map(({ id, event_id }) => [id, event_id, 'inserted']));
    expect(rows.map(({ text }) => text)).toEqual(events.flatMap(({ payload }) => payload as string[]));
  });

  it('takes ten thousand in one call', async () => {
    const drafts = Array.from({ length: 10_000 }, (_, index) => letter(`${index}`));
    await app.dataSource.transaction(async (tx) => {
      const recorded = await app.recorder.enqueue(tx, Letters, drafts);
      expect(new Set(recorded.map(({ id }) => id)).size).toBe(10_000);
      const [row] = await tx.query<{ count: number }[]>('SELECT count(*)::int AS count FROM deliveries.deliveries');
      expect(row?.count).toBe(10_000);
      await tx.query('DELETE FROM deliveries.deliveries');
    });
  });

  it('records nothing, and no event, for an empty list', async () => {
    await app.dataSource.transaction(async (tx) => {
      expect(await app.recorder.record(tx, [])).toEqual([]);
      expect(await app.recorder.enqueue(tx, Letters, [])).toEqual([]);
      expect(await tx.query('SELECT FROM deliveries.events')).toEqual([]);
    });
  });
});

describe('events and their fan-out', () => {
  it('stores the event as it was told and gives each channel the caller’s transaction', async () => {
    letters.fanOut = async ({ payload }, tx) => {
      const rows = await tx.query<{ id: number }[]>('SELECT id FROM orders WHERE id = $1', [
        (payload as { order: number }).order,
      ]);
      return rows.map(({ id }) => ({ ...letter(`order ${id}`), recipient: { person: id } }));
    };
    const recorded = await app.dataSource.transaction(async (tx) => {
      await tx.query('INSERT INTO orders (id) VALUES (7)');
      return app.recorder.record(tx, { type: 'order_placed', payload: { order: 7 }, actor: 'user:12' });
    });
    expect(await database.query('SELECT id, type, payload, actor, delivery_id FROM deliveries.events')).toEqual([
      { id: recorded.eventId, type: 'order_placed', payload: { order: 7 }, actor: 'user:12', delivery_id: null },
    ]);
    await until('it arrives', () => sent().length === 1);
    const [id] = recorded.deliveries.map((each) => each.id);
    expect(arrived()).toMatchObject([
      {
        id,
        eventId: recorded.eventId,
        channel: 'letters',
        destination: 'a person',
        recipient: { person: 7 },
        payload: { text: 'order 7' },
      },
    ]);
    expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-7/);
  });

  it('keeps an event that causes nothing', async () => {
    const recorded = await app.recorder.transaction((tx) => app.recorder.record(tx, { type: 'nothing_to_say' }));
    expect(recorded.deliveries).toEqual([]);
    expect(await database.query('SELECT id, payload FROM deliveries.events')).toEqual([
      { id: recorded.eventId, payload: {} },
    ]);
  });

  it('writes an event of its own for enqueue', async () => {
    const { id } = await app.recorder.transaction((tx) => app.recorder.enqueue(tx, Letters, letter('a')));
    const rows = await database.query(
      'SELECT e.type, e.payload, d.id FROM deliveries.events e JOIN deliveries.deliveries d ON d.event_id = e.id',
    );
    expect(rows).toEqual([{ type: 'delivery_enqueued', payload: { channel: 'letters' }, id }]);
  });

  const thrower = {
    throws: () => {
      throw new Changed('no');
    },
    rejects: () => Promise.reject(new Changed('no')),
  };
  it.each(Object.entries(thrower))(
    'fails when a channel %s in deliveries, and leaves the transaction usable',
    async (_, fail) => {
      letters.fanOut = (event) => (event.type === 'bad' ? fail() : lettersWritten(event));
      await app.dataSource.transaction(async (tx) => {
        await tx.query('INSERT INTO orders (id) VALUES (1)');
        // The first event's letter is thought of before the second event fails, and must not be written.
        await expect(app.recorder.record(tx, [written('half'), { type: 'bad' }])).rejects.toThrow(Changed);
        await app.recorder.record(tx, written('whole'));
        await tx.query('INSERT INTO orders (id) VALUES (2)');
      });
      expect(await storedTexts(database)).toEqual(['whole']);
      expect(await database.query('SELECT type FROM deliveries.events')).toEqual([{ type: 'letters_written' }]);
      expect(await orders()).toEqual([1, 2]);
    },
  );

  it('names the channel whose deliveries does not return a list', async () => {
    letters.fanOut = () => undefined as never;
    const call = app.dataSource.transaction((tx) => app.recorder.record(tx, written('a')));
    await expect(call).rejects.toThrow(InvalidDraftError);
    await expect(call).rejects.toThrow(
      /^Channel "letters": deliveries\(\) must return a list of drafts, and returned undefined\./,
    );
  });
});

describe('what is recorded', () => {
  it('refuses bad drafts and events with a path, before any SQL, and leaves the transaction usable', async () => {
    const cycle: Record<string, unknown> = { text: 'a' };
    cycle.self = cycle;
    const bad: [string, unknown][] = [
      ['payload.note', { payload: { note: 'a\0b' } }],
      ['payload.list[1]', { payload: { list: ['a', 'x\ud800'] } }],
      ['payload.self', { payload: cycle }],
      ['payload.big', { payload: { big: 1n } }],
      ['payload.at', { payload: { at: new Date(NaN) } }],
      ['payload.n', { payload: { n: NaN } }],
      ['payload.u', { payload: { u: undefined } }],
      ['payload', { payload: { text: 'x'.repeat(256 * 1_024) } }],
      ['payload', {}],
      ['recipient', { payload: 1, recipient: 'x'.repeat(2_048) }],
      ['recipient.id', { payload: 1, recipient: { id: '\0' } }],
      ['destination', { destination: '', payload: 1 }],
      ['destination', { destination: 'a\0', payload: 1 }],
      ['destination', { destination: 'x'.repeat(501), payload: 1 }],
      ['dedupeKey', { payload: 1, dedupeKey: 'k\0' }],
      ['dedupeKey', { payload: 1, dedupeKey: 'k'.repeat(256) }],
      ['dedupeDigest', { payload: 1, dedupeDigest: 'd' }],
      ['notBefore', { payload: 1, notBefore: new Date(NaN) }],
      ['deadline', { payload: 1, deadline: '2030-01-01' }],
      ['draft.due', { payload: 1, due: new Date() }],
    ];
    const badEvents: [string, unknown][] = [
      ['event', null],
      ['event.type', { type: 'a\0' }],
      ['event.type', { type: 'x'.repeat(201) }],
      ['event.payload.at', { type: 'a', payload: { at: new Date(NaN) } }],
      ['event.actor', { type: 'a', actor: '\ud800' }],
      ['event.name', { type: 'a', name: 'b' }],
    ];
    await app.dataSource.transaction(async (tx) => {
      await tx.query('INSERT INTO orders (id) VALUES (1)');
      const refuses = async (path: string, call: Promise<unknown>): Promise<void> => {
        await expect(call).rejects.toThrow(InvalidDraftError);
        await expect(call).rejects.toMatchObject({ path, code: 'DELIVERIES_INVALID_DRAFT' });
      };
      for (const [path, part] of bad) {
        const draft = { destination: 'a person', ...(part as object) } as DeliveryDraft<Letter, Addressee>;
        letters.fanOut = () => [letter('good'), draft];
        await refuses(path, app.recorder.enqueue(tx, Letters, [letter('good'), draft]));
        await refuses(path, app.recorder.record(tx, [{ type: 'good' }, { type: 'good' }]));
        letters.fanOut = ({ type }) => [type === 'good' ? letter('good') : draft];
        await refuses(path, app.recorder.record(tx, [{ type: 'good' }, { type: 'bad' }]));
      }
      for (const [path, event] of badEvents) {
        letters.fanOut = () => [letter('good')];
        await refuses(path, app.recorder.record(tx, [written('good'), event as DeliveryEvent]));
      }
      expect(await tx.query('SELECT type FROM deliveries.events')).toEqual([]);
      await app.recorder.enqueue(tx, Letters, letter('after all'));
      await tx.query('INSERT INTO orders (id) VALUES (2)');
    });
    expect(await orders()).toEqual([1, 2]);
    expect(await storedTexts(database)).toEqual(['after all']);
  });

  it('copies a draft when it is called: what its source becomes later changes nothing', async () => {
    const source = {
      ...letter('as it was'),
      payload: { text: 'as it was' },
      recipient: { person: 1 },
      deadline: new Date(Date.now() + 60_000),
    };
    const expected = structuredClone(source);
    await app.dataSource.transaction(async (tx) => {
      await tx.query('INSERT INTO orders (id) VALUES (1)');
      const call = app.recorder.enqueue(tx, Letters, source);
      source.payload.text = 'changed';
      source.recipient.person = 2;
      source.deadline.setTime(0);
      await call;
      await tx.query('DELETE FROM orders');
    });
    await until('it arrives', () => sent().length === 1);
    expect(arrived()).toMatchObject([
      { payload: expected.payload, recipient: expected.recipient, deadline: expected.deadline },
    ]);
  });

  it('dates a delivery by the clock, not by the start of the caller’s transaction', async () => {
    const [row] = await app.dataSource.transaction(async (tx) => {
      const [before] = await tx.query<{ at: string }[]>('SELECT clock_timestamp()::text AS at');
      await app.recorder.record(tx, written('a'));
      return tx.query<object[]>(
        `SELECT d.created_at >= $1::timestamptz AS created, d.due_at >= $1::timestamptz AS due, e.occurred_at >= $1::timestamptz AS occurred
           FROM deliveries.deliveries d JOIN deliveries.events e ON e.id = d.event_id`,
        [before!.at],
      );
    });
    expect(row).toEqual({ created: true, due: true, occurred: true });
  });

  it('sends nothing before notBefore', async () => {
    const notBefore = new Date(Date.now() + 3_600_000);
    const { id } = await app.recorder.transaction((tx) =>
      app.recorder.enqueue(tx, Letters, { ...letter('later'), notBefore }),
    );
    await claimHasRun(app);
    expect(sent()).toEqual([]);
    expect(await database.query('SELECT due_at FROM deliveries.deliveries WHERE id = $1', [id])).toEqual([
      { due_at: notBefore },
    ]);
    await database.query('UPDATE deliveries.deliveries SET due_at = clock_timestamp() WHERE id = $1', [id]);
    await until('it arrives', () => sent().length === 1);
  });

  it('takes a notBefore that has passed as now', async () => {
    await app.recorder.transaction((tx) =>
      app.recorder.enqueue(tx, Letters, { ...letter('at once'), notBefore: new Date(0) }),
    );
    const [row] = await database.query(
      `SELECT due_at > created_at - interval '1 second' AS now FROM deliveries.deliveries`,
    );
    expect(row).toEqual({ now: true });
    await until('it arrives', () => sent().length === 1);
  });

  it('sends nothing after the deadline', async () => {
    const deadline = new Date(Date.now() - 1_000);
    const { id } = await app.recorder.transaction((tx) =>
      app.recorder.enqueue(tx, Letters, { ...letter('late'), deadline }),
    );
    app.workers.wake();
    const row = async () =>
      (await database.query('SELECT status, last_error, deadline FROM deliveries.deliveries WHERE id = $1', [id]))[0];
    await until('it fails', async () => (await row())?.status === 'failed');
    expect(await row()).toEqual({ status: 'failed', last_error: 'expired', deadline });
    expect(sent()).toEqual([]);
  });

  it('takes a draft’s type from the channel’s class: these lines must not compile', () => {
    const tx = {} as EntityManager;
    const { recorder } = app;
    const neverCalled = (): unknown[] => [
      recorder.enqueue(tx, Letters, { destination: 'a', payload: { text: 'right' }, recipient: { person: 1 } }),
      recorder.enqueue(tx, Letters, [letter('right')]).then((recorded) => recorded.map(({ id }) => id)),
      recorder.enqueue(tx, Letters, letter('right')).then(({ id }) => id),
      // a send that names only the payload still says what it is
      recorder.enqueue(tx, Parcels, { destination: 'a', payload: 'right', recipient: 'anybody' }),
      // @ts-expect-error -- a parcel is a text
      recorder.enqueue(tx, Parcels, { destination: 'a', payload: 1 }),
      // @ts-expect-error -- text is not a number
      recorder.enqueue(tx, Letters, { destination: 'a', payload: { text: 1 } }),
      // @ts-expect-error -- text is missing
      recorder.enqueue(tx, Letters, { destination: 'a', payload: {} }),
      // @ts-expect-error -- subject is not part of a letter
      recorder.enqueue(tx, Letters, { destination: 'a', payload: { text: 'a', subject: 'b' } }),
      // @ts-expect-error -- a person is a number
      recorder.enqueue(tx, Letters, { destination: 'a', payload: { text: 'a' }, recipient: { person: 'b' } }),
      // @ts-expect-error -- one of several is wrong
      recorder.enqueue(tx, Letters, [letter('right'), { destination: 'a', payload: { text: 1 } }]),
      // @ts-expect-error -- there is no destination
      recorder.enqueue(tx, Letters, { payload: { text: 'a' } }),
      // @ts-expect-error -- a Date, not a text
      recorder.enqueue(tx, Letters, { ...letter('a'), notBefore: '2030-01-01' }),
      // @ts-expect-error -- not a channel
      recorder.enqueue(tx, Date, letter('a')),
      // @ts-expect-error -- an event has a type
      recorder.record(tx, { payload: 1 }),
    ];
    expect(neverCalled).toBeInstanceOf(Function);
  });
});

@DeliveryChannel({ name: 'parcels', maxAge: '1d' })
class Parcels implements ChannelHandler<string> {
  readonly arrived: string[] = [];
  deliveries(): DeliveryDraft<string>[] {
    return [];
  }
  send({ payload }: { payload: string }): Promise<ReturnType<typeof succeeded>> {
    this.arrived.push(payload);
    return Promise.resolve(succeeded());
  }
}

it('leaves deliveries of a channel that this replica does not know alone', async () => {
  const newer = await startDeliveriesApp(database.url, [Letters, Parcels], { workers: 0 });
  await newer.recorder.transaction((tx) =>
    newer.recorder.enqueue(
      tx,
      Parcels,
      'heavy light'.split(' ').map((payload) => ({ destination: 'a', payload })),
    ),
  );
  await newer.close();
  await claimHasRun(app);
  await claimHasRun(app);
  const rows = await database.query(
    `SELECT status, attempts, claim_token, due_at < clock_timestamp() AS due FROM deliveries.deliveries WHERE channel = 'parcels'`,
  );
  expect(rows).toEqual(Array(2).fill({ status: 'pending', attempts: 0, claim_token: null, due: true }));
  const last = await startDeliveriesApp(database.url, [Letters, Parcels]);
  await until('the replica that knows the channel sends them', () => last.module.get(Parcels).arrived.length === 2);
  await last.close();
});

describe.each(['serializable', 'repeatable read'])('in a database whose default isolation is %s', (level) => {
  let strict: TestDatabase;
  let strictApp: DeliveriesApp;

  beforeAll(async () => {
    strict = await createTestDatabase();
    await strict.query(`ALTER DATABASE ${strict.name} SET default_transaction_isolation = '${level}'`);
    await strict.query('CREATE TABLE seen (what text, isolation text)');
    await strict.query(`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO seen VALUES (TG_OP, current_setting('transaction_isolation')); RETURN NULL; END $$`);
    await strict.query(
      'CREATE TRIGGER note AFTER INSERT OR UPDATE ON deliveries.deliveries FOR EACH ROW EXECUTE FUNCTION note()',
    );
    strictApp = await startDeliveriesApp(strict.url, [Letters]);
  });

  afterAll(async () => {
    await strictApp.close();
    await strict.drop();
  });

  it('reads committed in recorder.transaction and in the workers', async () => {
    const { recorder } = strictApp;
    await recorder.transaction((tx) =>
      recorder.enqueue(tx, Letters, [letter('a'), { ...letter('b'), dedupeKey: 'b' }]),
    );
    const settled = () => strict.query(`SELECT FROM deliveries.deliveries WHERE status = 'succeeded'`);
    await until('both are settled', async () => (await settled()).length === 2);
    const seen = await strict.query('SELECT what, isolation, count(*)::int FROM seen GROUP BY 1, 2 ORDER BY 1');
    expect(seen).toEqual([
      { what: 'INSERT', isolation: 'read committed', count: 2 },
      { what: 'UPDATE', isolation: 'read committed', count: 4 },
    ]);
  });

  it('records in the caller’s own level', async () => {
    const { recorder, dataSource } = strictApp;
    await strict.query('TRUNCATE seen');
    await dataSource.transaction((tx) => recorder.record(tx, written('a')));
    await recorder.transaction((tx) => recorder.record(tx, written('b')), { isolation: 'REPEATABLE READ' });
    const seen = await strict.query<{ isolation: string }>(`SELECT isolation FROM seen WHERE what = 'INSERT'`);
    expect(seen.map(({ isolation }) => isolation)).toEqual([level, 'repeatable read']);
  });
});
