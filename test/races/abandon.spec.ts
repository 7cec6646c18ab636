import { failed, succeeded } from 'nest-deliveries';
import { Client } from 'pg';
import { countOf, deadlocks, insertRows } from '../deliveries/ended-rows';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { rowOf, rowsOf } from '../faults/support/rows';
import { scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let app: DeliveriesApp;
let channel: ScriptedChannel;
let others: Client[] = [];

const actor = 'ops';

beforeEach(async () => {
  database = await createTestDatabase();
  channel = scriptedChannel({ name: 'mail', maxAge: '1d' });
  channel.on('fails', () => failed(410));
});

afterEach(async () => {
  await Promise.all(others.map((other) => other.end()));
  others = [];
  await app?.close();
  await database.drop();
});

async function start(options: Parameters<typeof startDeliveriesApp>[2] = {}): Promise<void> {
  app = await startDeliveriesApp(database.url, [channel.type], { cleanUpInterval: false, ...options });
}

/** Somebody else's session, in a transaction. */
async function session(...statements: string[]): Promise<Client> {
  const other = new Client({ connectionString: database.url });
  others.push(other);
  await other.connect();
  await other.query('BEGIN');
  for (const statement of statements) {
    await other.query(statement);
  }
  return other;
}

/** Holds every abandonment up after it has locked what it locks, and before it commits. @returns what lets it go on */
async function holdUpAbandonment(): Promise<() => Promise<unknown>> {
  await database.query(`
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN OLD; END $$;
    CREATE TRIGGER hold BEFORE DELETE ON deliveries.deliveries FOR EACH ROW WHEN (OLD.status = 'failed') EXECUTE FUNCTION hold()`);
  await database.query('SELECT pg_advisory_lock(42)');
  return () => database.query('SELECT pg_advisory_unlock(42)');
}

/** Waits until so many sessions wait for a lock of a kind: `advisory` for the one above, `transactionid` for a row. */
const untilWaiting = (what: string, count: number, event: 'advisory' | 'transactionid'): Promise<unknown> =>
  until(what, async () => {
    const rows = await database.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = $1",
      [event],
    );
    return rows.length === count;
  });

/** Keys whose heads failed 31 days ago, each with so many deliveries waiting behind. */
async function stuckKeys(count: number, waiting: number): Promise<void> {
  await insertRows(database, {
    count,
    status: 'failed',
    settledAgo: "interval '31 days' + n * interval '1 ms'",
    key: "'key ' || n",
    ordinal: '1',
    error: "'410'",
  });
  if (waiting === 0) return;
  await insertRows(database, {
    count: count * waiting,
    status: 'pending',
    settledAgo: null,
    key: `'key ' || (n - 1) / ${waiting} + 1`,
    ordinal: `2 + (n - 1) % ${waiting}`,
  });
}

/** One key: a head that failed so long ago, and one that waits behind it. */
async function stuckKey(orderingKey: string): Promise<{ head: string; behind: string }> {
  const [head, behind] = await enqueue(app, channel, [{ n: 1 }, { n: 2 }], { orderingKey });
  await database.query(
    `UPDATE deliveries.deliveries
        SET status = 'failed', settled_at = clock_timestamp() - interval '31 days', attempts = 1, last_error = '410' WHERE id = $1`,
    [head],
  );
  return { head: head!, behind: behind! };
}

const abandonedEvents = (): Promise<Record<string, unknown>[]> =>
  database.query(
    "SELECT type, actor, payload, delivery_id FROM deliveries.events WHERE type = 'deliveries_abandoned' ORDER BY occurred_at",
  );

it('abandons a key 30 days after its head failed: the failure goes, what waits behind is cancelled, and both are remembered', async () => {
  await start({ run: [] });
  const { head, behind } = await stuckKey('k');
  const unordered = await enqueueOne(app, channel, {});
  await database.query(
    "UPDATE deliveries.deliveries SET settled_at = settled_at + interval '1 day 1 minute' WHERE id = $1",
    [head],
  );
  expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 0, cancelled: 0 } });
  await database.query("UPDATE deliveries.deliveries SET settled_at = settled_at - interval '1 minute' WHERE id = $1", [
    head,
  ]);

  expect(await app.cleaner.runOnce()).toMatchObject({
    abandoned: { keys: 1, cancelled: 1 },
    deleted: { failed: 0, cancelled: 0 },
  });
  expect(await abandonedEvents()).toEqual([
    {
      type: 'deliveries_abandoned',
      actor: 'clean-up',
      payload: { channel: 'mail', cancelled: 1 },
      delivery_id: head,
    },
  ]);
  expect(await rowOf(database, behind)).toMatchObject({ status: 'cancelled', last_error: 'abandoned', attempts: 0 });
  expect(await rowOf(database, unordered)).toMatchObject({ status: 'pending' });
  await expect(app.operations.show(head)).rejects.toMatchObject({ code: 'DELIVERIES_NOT_FOUND', abandoned: true });
  await expect(app.operations.retry(behind, { actor })).rejects.toMatchObject({ status: 'cancelled' });
  // Kept for 30 days of its own, from now.
  await database.query("UPDATE deliveries.deliveries SET settled_at = settled_at - interval '30 days' WHERE id = $1", [
    behind,
  ]);
  expect(await app.cleaner.runOnce()).toMatchObject({ deleted: { cancelled: 1 } });
  expect(await countOf(database, 'events', "type = 'deliveries_abandoned'")).toBe(1);
});

it('leaves a failed key of a channel alone that keeps its failures by hand', async () => {
  channel = scriptedChannel({ name: 'mail', maxAge: '1d', retention: { failed: 'manual' } });
  await start({ run: [] });
  await stuckKeys(3, 2);
  await database.query("UPDATE deliveries.deliveries SET settled_at = settled_at - interval '9 years'");
  expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 0, cancelled: 0 }, complete: true });
  expect(await countOf(database, 'deliveries')).toBe(9);
});

it('covers up to 1,000 keys in one transaction', async () => {
  await start({ run: [] });
  await stuckKeys(2_300, 2);
  expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 2_300, cancelled: 4_600 }, complete: true });
  const transactions = await database.query(
    "SELECT count(*)::integer AS keys FROM deliveries.events WHERE type = 'deliveries_abandoned' GROUP BY xmin::text ORDER BY keys",
  );
  expect(transactions).toEqual([{ keys: 300 }, { keys: 1_000 }, { keys: 1_000 }]);
  expect(await countOf(database, 'deliveries', "status = 'cancelled'")).toBe(4_600);
  expect(await countOf(database, 'deliveries')).toBe(4_600);
});

it('covers about 10,000 rows in one transaction, a key always whole', async () => {
  await start({ run: [] });
  await stuckKeys(5, 4_500);
  expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 5, cancelled: 22_500 }, complete: true });
  const transactions = await database.query(
    "SELECT count(*)::integer AS keys FROM deliveries.events WHERE type = 'deliveries_abandoned' GROUP BY xmin::text ORDER BY keys",
  );
  expect(transactions).toEqual([{ keys: 2 }, { keys: 3 }]);
});

it.each(['retry', 'cancel'] as const)('makes a %s that raced it wait, and find the failure gone', async (operation) => {
  await start({ run: [] });
  const { head, behind } = await stuckKey('k');
  const goOn = await holdUpAbandonment();
  const cleaning = app.cleaner.runOnce();
  await untilWaiting('the abandonment holds its locks', 1, 'advisory');
  const operating = app.operations[operation](head, { actor });
  await untilWaiting('the operator waits for the row', 1, 'transactionid');
  await goOn();

  await expect(operating).rejects.toMatchObject({ code: 'DELIVERIES_NOT_FOUND', abandoned: true });
  expect(await cleaning).toMatchObject({ abandoned: { keys: 1, cancelled: 1 } });
  expect(await rowOf(database, behind)).toMatchObject({ status: 'cancelled' });
  expect(await countOf(database, 'events', "type IN ('delivery_retried', 'delivery_cancelled')")).toBe(0);
});

it('passes over a failure that an operator holds, and over one that was retried', async () => {
  await start({ run: [] });
  const first = await stuckKey('k');
  const second = await stuckKey('l');
  const operator = await session(`SELECT FROM deliveries.deliveries WHERE id = '${first.head}' FOR UPDATE`);
  expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 1, cancelled: 1 }, complete: true });
  expect(await rowOf(database, second.behind)).toMatchObject({ status: 'cancelled' });
  await operator.query('ROLLBACK');
  await app.operations.retry(first.head, { actor });
  expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 0, cancelled: 0 }, complete: true });
  expect(await rowOf(database, first.behind)).toMatchObject({ status: 'pending' });
});

it('skips a key under which an open transaction records, and abandons it whole the next time', async () => {
  await start({ run: [] });
  const open = await stuckKey('open');
  const free = await stuckKey('free');
  await app.dataSource.transaction(async (tx) => {
    await app.recorder.enqueue(tx, channel.type, { destination: 'x', payload: { n: 3 }, orderingKey: 'open' });
    expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 1, cancelled: 1 }, complete: true });
  });
  expect(await rowOf(database, open.behind)).toMatchObject({ status: 'pending' });
  expect(await rowOf(database, free.behind)).toMatchObject({ status: 'cancelled' });

  expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 1, cancelled: 2 } });
  expect(await countOf(database, 'deliveries', "status = 'pending'")).toBe(0);
});

it('leaves a key whole when somebody holds a delivery that waits in it', async () => {
  await start({ run: [] });
  const { head, behind } = await stuckKey('k');
  const third = await enqueueOne(app, channel, { n: 3 }, { orderingKey: 'k' });
  const operator = await session(`SELECT FROM deliveries.deliveries WHERE id = '${third}' FOR UPDATE`);
  expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 0, cancelled: 0 }, complete: true });
  expect(await rowOf(database, head)).toMatchObject({ status: 'failed' });
  expect(await rowOf(database, behind)).toMatchObject({ status: 'pending' });
  await operator.query('ROLLBACK');
  expect(await app.cleaner.runOnce()).toMatchObject({ abandoned: { keys: 1, cancelled: 2 } });
});

it('while it is under way, holds up no other key, and sends nothing of its own out of turn', async () => {
  await start({ pollInterval: 20 });
  // The head fails as in life; only its age is moved.
  const [head, second] = await enqueue(app, channel, [{ script: 'fails', n: 1 }, { n: 2 }], { orderingKey: 'k' });
  await until('the head has failed', async () => (await rowOf(database, head!)).status === 'failed');
  await database.query("UPDATE deliveries.deliveries SET settled_at = settled_at - interval '31 days' WHERE id = $1", [
    head,
  ]);

  const goOn = await holdUpAbandonment();
  const cleaning = app.cleaner.runOnce();
  await untilWaiting('the abandonment holds its locks', 1, 'advisory');
  const recording = enqueueOne(app, channel, { n: 3 }, { orderingKey: 'k' });
  await untilWaiting('the recorder of the key waits', 1, 'transactionid');
  // Other keys, and deliveries without one, go their way: recorded, claimed, settled, chained.
  const other = await enqueue(app, channel, [{ n: 11 }, { n: 12 }], { orderingKey: 'other' });
  const plain = await enqueueOne(app, channel, { n: 13 });
  await until('they have arrived', async () => {
    const rows = await rowsOf(database, [...other, plain]);
    return rows.every(({ status }) => status === 'succeeded');
  });
  expect(await rowOf(database, second!)).toMatchObject({ status: 'pending', attempts: 0 });

  await goOn();
  expect(await cleaning).toMatchObject({ abandoned: { keys: 1, cancelled: 1 } });
  const third = await recording;
  await until(
    'what was recorded afterwards has arrived',
    async () => (await rowOf(database, third)).status === 'succeeded',
  );
  expect(await rowOf(database, second!)).toMatchObject({ status: 'cancelled', attempts: 0 });
  const sent = channel.calls.map(({ payload }) => payload.n).filter((n) => n! < 10);
  expect(sent).toEqual([1, 3]);
});

it('is no part of a deadlock: recorders with opposite keys, bulk retry, cancels, settles and two cleaners at once', async () => {
  const keys = Array.from({ length: 12 }, (_, n) => `k${n}`);
  channel.on('fails now and then', (_, { number }) => (number % 3 === 0 ? succeeded() : failed(410)));
  await start({ pollInterval: 20 });
  const second = await startDeliveriesApp(database.url, [channel.type], { cleanUpInterval: false, pollInterval: 20 });
  const over = gate();
  const state = { running: true };
  void over.passed.then(() => (state.running = false));
  const repeat = async (work: () => Promise<unknown>): Promise<void> => {
    while (state.running) await work();
  };
  const record = (order: string[]) => (): Promise<unknown> =>
    app.recorder.transaction(async (tx) => {
      for (const orderingKey of order) {
        const payload = { script: 'fails now and then' };
        await app.recorder.enqueue(tx, channel.type, { destination: 'x', payload, orderingKey });
      }
    });
  const failures = async (): Promise<string[]> =>
    (await database.query<{ id: string }>("SELECT id FROM deliveries.deliveries WHERE status = 'failed'")).map(
      ({ id }) => id,
    );
  const expected = (error: unknown): void => {
    if (!/^DELIVERIES_(STATE|NOT_FOUND)$/.test((error as { code: string }).code)) throw error;
  };
  let abandoned = 0;
  const clean = (cleaner: DeliveriesApp['cleaner']) => async (): Promise<void> => {
    await database.query(
      "UPDATE deliveries.deliveries SET settled_at = settled_at - interval '31 days' WHERE status = 'failed' AND id::text < '8'",
    );
    const { abandoned: done } = await cleaner.runOnce();
    abandoned += done.keys;
  };
  const work = [
    repeat(record(keys)),
    repeat(record(keys.toReversed())),
    repeat(async () => {
      const ids = await failures();
      await Promise.all(
        ids.map((id, n) =>
          (n % 5 === 0
            ? app.operations.cancel(id, { actor })
            : app.operations.retry(id, { actor, restartAgeBehind: n % 2 === 0 })
          ).catch(expected),
        ),
      );
    }),
    repeat(clean(app.cleaner)),
    repeat(clean(second.cleaner)),
  ];
  await until('a good deal has happened', async () => abandoned >= 20 && (await countOf(database, 'events')) > 150);
  over.open();
  await Promise.all(work);
  await Promise.all([app.close(), second.close()]);
  expect(await deadlocks(database)).toBe(0);
  // Each failure that was abandoned is gone, and was abandoned once.
  const [events] = await database.query<{ n: number; ids: number; left: number }>(
    `SELECT count(*)::integer AS n, count(DISTINCT e.delivery_id)::integer AS ids, count(d.id)::integer AS left
       FROM deliveries.events e LEFT JOIN deliveries.deliveries d ON d.id = e.delivery_id WHERE e.type = 'deliveries_abandoned'`,
  );
  expect(events).toEqual({ n: abandoned, ids: abandoned, left: 0 });
});
