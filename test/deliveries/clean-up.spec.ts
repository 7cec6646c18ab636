import { SchedulerRegistry } from '@nestjs/schedule';
import { DeliveriesOptionsError, type CleanUpReport, type DeliveriesOptions } from 'nest-deliveries';
import { Client } from 'pg';
import * as abandon from '../../libs/deliveries/src/clean-up/abandon.sql';
import { deleteEndedSql } from '../../libs/deliveries/src/clean-up/delete-ended.sql';
import * as events from '../../libs/deliveries/src/clean-up/events.sql';
import * as orderings from '../../libs/deliveries/src/clean-up/orderings.sql';
import { cancelSql } from '../../libs/deliveries/src/operate/cancel.sql';
import { purgeSql } from '../../libs/deliveries/src/operate/purge.sql';
import { retrySql } from '../../libs/deliveries/src/operate/retry.sql';
import { showSql, wasAbandonedSql } from '../../libs/deliveries/src/operate/show.sql';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { until } from '../faults/support/facts';
import { scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { countOf, insertRows } from './ended-rows';

let database: TestDatabase;
let app: DeliveriesApp | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await app?.close();
  app = undefined;
  await database.drop();
});

const mail = (settings: Partial<Parameters<typeof scriptedChannel>[0]> = {}): ScriptedChannel =>
  scriptedChannel({ name: 'mail', maxAge: '1d', ...settings });

/** A process without workers, which cleans up only when the test says so. */
async function start(channels: ScriptedChannel[], options: DeliveriesOptions = {}): Promise<DeliveriesApp> {
  const types = channels.map(({ type }) => type);
  app = await startDeliveriesApp(database.url, types, { run: [], cleanUpInterval: false, ...options });
  return app;
}

const nothing: CleanUpReport = {
  deleted: { succeeded: 0, failed: 0, cancelled: 0 },
  abandoned: { keys: 0, cancelled: 0 },
  events: 0,
  auditEvents: 0,
  orderings: 0,
  complete: true,
};

const days = (count: number, less = '0'): string => `(interval '${count} days' - interval '${less}')`;

it('deletes what succeeded after 7 days and what failed or was cancelled after 30, exactly at the edge', async () => {
  const { cleaner } = await start([mail()]);
  for (const [status, kept] of [
    ['succeeded', 7],
    ['failed', 30],
    ['cancelled', 30],
  ] as const) {
    await insertRows(database, { count: 1, status, settledAgo: days(kept) });
    await insertRows(database, { count: 1, status, settledAgo: days(kept, '1 minute') });
    await insertRows(database, { count: 1, status, settledAgo: days(0) });
  }
  await insertRows(database, { count: 1, status: 'pending', settledAgo: null });

  expect(await cleaner.runOnce()).toEqual({ ...nothing, deleted: { succeeded: 1, failed: 1, cancelled: 1 } });
  expect(await countOf(database, 'deliveries')).toBe(7);
  expect(await cleaner.runOnce()).toEqual(nothing);
  await database.query("UPDATE deliveries.deliveries SET settled_at = settled_at - interval '1 minute'");
  expect(await cleaner.runOnce()).toEqual({ ...nothing, deleted: { succeeded: 1, failed: 1, cancelled: 1 } });
  expect(await countOf(database, 'deliveries')).toBe(4);
});

it('keeps deliveries as their channel says, and leaves channels alone that are manual or unknown here', async () => {
  const channels = [
    mail({ retention: { succeeded: '1h', failed: 'manual' } }),
    scriptedChannel({ name: 'kept', maxAge: '1d', retention: 'manual' }),
    scriptedChannel({ name: 'overridden', maxAge: '1d', retention: { succeeded: '1h' } }),
    scriptedChannel({ name: 'plain', maxAge: '1d' }),
  ];
  const { cleaner } = await start(channels, {
    retention: { cancelled: '2d' },
    channels: { overridden: { retention: { succeeded: '5h' } } },
  });
  for (const channel of ['mail', 'kept', 'overridden', 'plain', 'unknown']) {
    for (const status of ['succeeded', 'failed', 'cancelled']) {
      await insertRows(database, { count: 1, channel, status, settledAgo: "interval '3 days'" });
    }
  }
  await insertRows(database, { count: 1, channel: 'overridden', settledAgo: "interval '2 hours'" });
  expect(await cleaner.runOnce()).toMatchObject({ deleted: { succeeded: 2, failed: 0, cancelled: 3 } });
  const left = await database.query(
    "SELECT channel, string_agg(status, ' ' ORDER BY status) AS has FROM deliveries.deliveries GROUP BY channel ORDER BY channel",
  );
  expect(left).toEqual([
    { channel: 'kept', has: 'cancelled failed succeeded' },
    { channel: 'mail', has: 'failed' },
    { channel: 'overridden', has: 'failed succeeded' },
    { channel: 'plain', has: 'failed succeeded' },
    { channel: 'unknown', has: 'cancelled failed succeeded' },
  ]);

  await database.query("UPDATE deliveries.deliveries SET settled_at = settled_at - interval '9 years'");
  await cleaner.runOnce();
  expect(await countOf(database, 'deliveries', "channel IN ('kept', 'unknown')")).toBe(6);
});

it.each([
  [{ retention: { succeeded: 'soon' as '1d' } }, /retention\.succeeded must be a duration/],
  [{ retention: { expired: '1d' } as object }, /no option "expired"/],
  [{ retention: 'forever' as 'manual' }, /retention: options must be an object/],
  [{ cleanUpInterval: '1ms' as const }, /cleanUpInterval must be a duration/],
  [{ channels: { mail: { revivesCancelled: 'no' as unknown as boolean } } }, /revivesCancelled must be true or false/],
])('refuses %j at start', async (options, message) => {
  const refused = start([mail()], options);
  await expect(refused).rejects.toThrow(DeliveriesOptionsError);
  await expect(refused).rejects.toThrow(message);
});

it('works in batches, each a transaction of its own, and says how much it deleted', async () => {
  const { cleaner } = await start([mail()]);
  await insertRows(database, { count: 2_500, settledAgo: days(8) });
  await insertRows(database, { count: 10 });
  expect(await cleaner.runOnce()).toEqual({ ...nothing, deleted: { succeeded: 2_500, failed: 0, cancelled: 0 } });
  expect(await countOf(database, 'deliveries')).toBe(10);
  // Each row that a trigger wrote carries the transaction that deleted.
  const batches = await database.query<{ n: number }>(
    'SELECT count(*)::integer AS n FROM deliveries.delivery_removals GROUP BY xmin::text ORDER BY n DESC',
  );
  expect(batches).toEqual([{ n: 1_000 }, { n: 1_000 }, { n: 500 }]);
});

it('deletes an event 30 days after its last delivery was deleted, by whomever, or after it caused none', async () => {
  const channel = mail();
  const { cleaner, recorder, dataSource } = await start([channel]);
  const record = (count: number): Promise<string[]> =>
    enqueue(
      { recorder },
      channel,
      Array.from({ length: count }, () => ({})),
    );
  const eventIds = async (): Promise<string[]> =>
    (await database.query<{ id: string }>('SELECT id FROM deliveries.events ORDER BY id')).map(({ id }) => id);
  const eventOf = async (id: string): Promise<string> =>
    (await database.query<{ event_id: string }>('SELECT event_id FROM deliveries.deliveries WHERE id = $1', [id]))[0]!
      .event_id;
  const later = (interval: string): Promise<unknown> =>
    database.query(`UPDATE deliveries.delivery_removals SET removed_at = removed_at - interval '${interval}'`);
  const pair = await record(2);
  const [single] = await record(1);
  const [pairEvent, singleEvent] = [await eventOf(pair[0]!), await eventOf(single!)];
  const idle = await dataSource.transaction((tx) => recorder.record(tx, { type: 'nothing_follows' }));
  // Occurred long ago: that alone must not be the end of an event that something refers to.
  await database.query("UPDATE deliveries.events SET occurred_at = occurred_at - interval '300 days' WHERE id <> $1", [
    idle.eventId,
  ]);
  await cleaner.runOnce();
  expect(await eventIds()).toEqual([pairEvent, singleEvent, idle.eventId].toSorted());

  // One of the pair is deleted by clean-up, the single one by hand.
  await database.query(
    "UPDATE deliveries.deliveries SET status = 'succeeded', settled_at = clock_timestamp() - interval '8 days' WHERE id = $1",
    [pair[0]],
  );
  await database.query('DELETE FROM deliveries.deliveries WHERE id = $1', [single]);
  expect(await cleaner.runOnce()).toMatchObject({ deleted: { succeeded: 1 }, events: 0 });
  await later('29 days 23 hours 59 minutes');
  expect(await cleaner.runOnce()).toMatchObject({ events: 0 });
  await later('1 minute');
  expect(await cleaner.runOnce()).toMatchObject({ events: 1 });
  expect(await eventIds()).toEqual([pairEvent, idle.eventId].toSorted());

  // The second one of the pair goes: 30 days from now, and not from when the first one went.
  await database.query('DELETE FROM deliveries.deliveries WHERE id = $1', [pair[1]]);
  await database.query("INSERT INTO deliveries.delivery_removals VALUES ($1, clock_timestamp() - interval '31 days')", [
    pairEvent,
  ]);
  expect(await cleaner.runOnce()).toMatchObject({ events: 0 });
  await later('30 days');
  expect(await cleaner.runOnce()).toMatchObject({ events: 1 });
  expect(await countOf(database, 'delivery_removals')).toBe(0);

  await database.query("UPDATE deliveries.events SET occurred_at = clock_timestamp() - interval '29 days 23 hours'");
  expect(await cleaner.runOnce()).toMatchObject({ events: 0 });
  await database.query("UPDATE deliveries.events SET occurred_at = clock_timestamp() - interval '30 days'");
  expect(await cleaner.runOnce()).toMatchObject({ events: 1 });
  expect(await eventIds()).toEqual([]);
});

it('does not keep an event for ever whose only delivery turned out to be a duplicate at the commit', async () => {
  const channel = mail();
  const { cleaner, recorder } = await start([channel]);
  Object.assign(channel.type.prototype as object, {
    deliveries: () => [{ destination: 'somebody', payload: {}, dedupeKey: 'once' }],
  });
  await recorder.transaction((tx) => recorder.record(tx, { type: 'first' }));
  await recorder.transaction((tx) => recorder.record(tx, { type: 'second' }));
  await database.query("UPDATE deliveries.delivery_removals SET removed_at = removed_at - interval '31 days'");
  expect(await cleaner.runOnce()).toMatchObject({ events: 1 });
  expect(await database.query('SELECT type FROM deliveries.events')).toEqual([{ type: 'first' }]);
});

it('remembers what operators did for 400 days', async () => {
  const channel = mail();
  const { cleaner, operations } = await start([channel]);
  const [id] = await enqueue(app!, channel, [{}]);
  await operations.cancel(id!, { actor: 'ops' });
  await database.query("UPDATE deliveries.deliveries SET settled_at = settled_at - interval '31 days'");
  const audit =
    "UPDATE deliveries.events SET occurred_at = clock_timestamp() - interval '399 days 23 hours' WHERE delivery_id = $1";
  await database.query(audit, [id]);
  expect(await cleaner.runOnce()).toMatchObject({ deleted: { cancelled: 1 }, auditEvents: 0 });
  expect(await countOf(database, 'events', "type = 'delivery_cancelled'")).toBe(1);
  await database.query(
    "UPDATE deliveries.events SET occurred_at = occurred_at - interval '1 hour' WHERE delivery_id = $1",
    [id],
  );
  expect(await cleaner.runOnce()).toMatchObject({ auditEvents: 1 });
  expect(await countOf(database, 'events', "type = 'delivery_cancelled'")).toBe(0);
});

describe('rows of ordering keys', () => {
  /** As if all that was recorded under a key had been recorded so long ago. */
  const ago = async (interval: string, key: string): Promise<void> => {
    const earlier = `extract(epoch FROM interval '${interval}')::bigint * 1000000`;
    await database.query(
      `UPDATE deliveries.delivery_orderings
          SET last_recorded_at = last_recorded_at - interval '${interval}', last_ordinal = last_ordinal - ${earlier}
        WHERE ordering_key = $1`,
      [key],
    );
    await database.query(`UPDATE deliveries.deliveries SET ordinal = ordinal - ${earlier} WHERE ordering_key = $1`, [
      key,
    ]);
  };
  const keys = async (): Promise<string[]> =>
    (
      await database.query<{ ordering_key: string }>(
        'SELECT ordering_key FROM deliveries.delivery_orderings ORDER BY ordering_key',
      )
    ).map(({ ordering_key }) => ordering_key);
  const succeed = (key: string): Promise<unknown> =>
    database.query(
      "UPDATE deliveries.deliveries SET status = 'succeeded', settled_at = clock_timestamp() WHERE ordering_key = $1",
      [key],
    );

  it('go when nothing waits under them, and a key that comes back gets no ordinal again', async () => {
    const channel = mail();
    const { cleaner } = await start([channel]);
    for (const key of ['done', 'waiting', 'recent', 'ahead']) {
      await enqueue(app!, channel, [{}, {}, {}], { orderingKey: key });
    }
    await succeed('done');
    await succeed('recent');
    await succeed('ahead');
    await ago('2 days', 'done');
    await ago('2 days', 'waiting');
    await ago('2 days', 'ahead');
    // As after the clock was set back: a key that starts at the clock would be given ordinals for the second time.
    await database.query(
      "UPDATE deliveries.delivery_orderings SET last_ordinal = last_ordinal + 3 * 86400 * 1000000::bigint WHERE ordering_key = 'ahead'",
    );
    expect(await cleaner.runOnce()).toEqual({ ...nothing, orderings: 1 });
    expect(await keys()).toEqual(['ahead', 'recent', 'waiting']);

    const [again] = await enqueue(app!, channel, [{}], { orderingKey: 'done' });
    const rows = await database.query<{ id: string }>(
      "SELECT id FROM deliveries.deliveries WHERE ordering_key = 'done' ORDER BY ordinal DESC",
    );
    expect(rows).toHaveLength(4);
    expect(rows[0]).toEqual({ id: again });
  });

  it('are passed over while a transaction that records under the key is open', async () => {
    const channel = mail();
    const { cleaner, dataSource, recorder } = await start([channel]);
    await enqueue(app!, channel, [{}], { orderingKey: 'k' });
    await succeed('k');
    await ago('2 days', 'k');
    await dataSource.transaction(async (tx) => {
      await recorder.enqueue(tx, channel.type, { destination: 'x', payload: {}, orderingKey: 'k' });
      expect(await cleaner.runOnce()).toEqual(nothing);
    });
    await ago('2 days', 'k');
    expect(await cleaner.runOnce()).toEqual(nothing);
    expect(await keys()).toEqual(['k']);
  });

  it('give way to a recorder that waits for the row which is being deleted: it starts at the clock', async () => {
    const channel = mail();
    const { cleaner } = await start([channel]);
    const [old] = await enqueue(app!, channel, [{}], { orderingKey: 'k' });
    await succeed('k');
    await ago('2 days', 'k');
    await database.query(`
      CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(42); RETURN OLD; END $$;
      CREATE TRIGGER hold BEFORE DELETE ON deliveries.delivery_orderings FOR EACH ROW EXECUTE FUNCTION hold()`);
    await database.query('SELECT pg_advisory_lock(42)');
    const waiters = async (event: string): Promise<number> =>
      (
        await database.query(
          'SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = $1 AND wait_event = $2',
          ['Lock', event],
        )
      ).length;
    const cleaning = cleaner.runOnce();
    await until('clean-up waits, with the row locked', async () => (await waiters('advisory')) === 1);
    const recording = enqueueOne(app!, channel, {}, { orderingKey: 'k' });
    await until('the recorder waits for clean-up', async () => (await waiters('transactionid')) === 1);
    await database.query('SELECT pg_advisory_unlock(42)');
    expect(await cleaning).toEqual({ ...nothing, orderings: 1 });
    const fresh = await recording;
    const rows = await database.query('SELECT id FROM deliveries.deliveries ORDER BY ordinal');
    expect(rows).toEqual([{ id: old }, { id: fresh }]);
    expect(await keys()).toEqual(['k']);
  });
});

describe('as a scheduled provider', () => {
  it('cleans up by itself at its interval, under a name in the registry, also in a process without workers', async () => {
    await start([mail()], { cleanUpInterval: '1s' });
    await insertRows(database, { count: 3, settledAgo: days(8) });
    expect(app!.module.get(SchedulerRegistry).getIntervals()).toContain('deliveries:deliveries:clean-up');
    await until('they are gone', async () => (await countOf(database, 'deliveries')) === 0);
    await app!.close();
    expect(app!.module.get(SchedulerRegistry).getIntervals()).toEqual([]);
  });

  it('schedules nothing when it is told so', async () => {
    await start([mail()], { cleanUpInterval: false });
    expect(app!.module.get(SchedulerRegistry).getIntervals()).toEqual([]);
  });

  it('lets one process at a time work, and says when it was another one', async () => {
    const { cleaner } = await start([mail()]);
    await insertRows(database, { count: 3, settledAgo: days(8) });
    const other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query(
      "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('nest-deliveries clean-up of deliveries', 0))",
    );
    expect(await cleaner.runOnce()).toEqual({ ...nothing, complete: false });
    await other.end();
    expect(await cleaner.runOnce()).toMatchObject({ deleted: { succeeded: 3 }, complete: true });
  });

  it('stops between two batches, with what it did in its report', async () => {
    const { cleaner } = await start([mail()]);
    await insertRows(database, { count: 5_000, settledAgo: days(8) });
    const running = cleaner.runOnce();
    await until('the first batch is gone', async () => (await countOf(database, 'deliveries')) < 5_000);
    await app!.close();
    const { deleted, complete } = await running;
    expect(complete).toBe(false);
    expect(deleted.succeeded % 1_000).toBe(0);
    expect(deleted.succeeded).toBeGreaterThan(0);
    expect(await countOf(database, 'deliveries')).toBe(5_000 - deleted.succeeded);
  });

  it('does not hold up a shut-down with a batch that cannot end, which is rolled back', async () => {
    const { cleaner } = await start([mail()], { shutdownGrace: 200 });
    await insertRows(database, { count: 10, settledAgo: days(8) });
    const gate = new Client({ connectionString: database.url });
    await gate.connect();
    await gate.query('BEGIN; LOCK TABLE deliveries.delivery_removals IN SHARE MODE');
    const running = cleaner.runOnce().then(
      () => 'ended',
      () => 'cut off',
    );
    await until('the batch waits', async () => {
      const rows = await database.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
      );
      return rows.length > 0;
    });
    const began = performance.now();
    await app!.close();
    expect(performance.now() - began).toBeLessThan(15_000);
    expect(await running).toBe('cut off');
    await gate.end();
    expect(await countOf(database, 'deliveries')).toBe(10);
  });
});

it('never reads a table from end to end: each statement of operators and of clean-up has its index', async () => {
  const waiting = { status: 'pending', settledAgo: null } as const;
  const random = "md5(n::text) || 'k'";
  await insertRows(database, { count: 25_000, recipient: "jsonb_build_object('accountId', n)" });
  await insertRows(database, { count: 500, settledAgo: days(8) });
  await insertRows(database, { count: 10_000, ...waiting });
  await insertRows(database, { count: 10_000, ...waiting, key: `'key ' || n % 500`, ordinal: '1000 + n' });
  await insertRows(database, { count: 3_500, status: 'cancelled', settledAgo: days(2) });
  await insertRows(database, {
    count: 1_000,
    status: 'failed',
    settledAgo: "(n * interval '3 hours')",
    key: `CASE WHEN n <= 500 THEN 'key ' || n % 500 END`,
    error: "'410'",
  });
  await insertRows(database, { count: 5_000, key: random });
  await database.query(
    `INSERT INTO deliveries.events (id, type, payload, delivery_id, audit, occurred_at)
     SELECT gen_random_uuid(), 'delivery_retried', '{}', gen_random_uuid(), true, clock_timestamp() - n * interval '3 hours'
       FROM generate_series(1, 5000) n`,
  );
  await database.query(
    `INSERT INTO deliveries.events (id, type, payload, occurred_at)
     SELECT gen_random_uuid(), 'idle', '{}', clock_timestamp() - n * interval '1 minute' FROM generate_series(1, 50000) n`,
  );
  await database.query(
    `INSERT INTO deliveries.delivery_removals SELECT id, clock_timestamp() - row_number() OVER () * interval '1 minute' FROM deliveries.events`,
  );
  await database.query(
    `INSERT INTO deliveries.delivery_attempts
     SELECT id, 1, clock_timestamp(), clock_timestamp(), 'retried', '503' FROM deliveries.deliveries`,
  );
  await database.query('ANALYZE');
  const [one] = await database.query<{ id: string }>('SELECT id FROM deliveries.deliveries LIMIT 1 OFFSET 30000');
  const [failures] = await database.query<{ ids: string[]; keys: string[]; ordinals: string[] }>(
    `SELECT array_agg(id) AS ids, array_agg(ordering_key) AS keys, array_agg(ordinal) AS ordinals
       FROM deliveries.deliveries WHERE status = 'failed' AND ordering_key IS NOT NULL`,
  );
  const id = one!.id;
  const month = 30 * 86_400_000;
  const { ids, keys, ordinals } = failures!;
  expect(ids).toHaveLength(500);
  const uuid = '01a00000-0000-7000-8000-000000000000';
  type Statements = Record<string, [text: (schema: string) => string, values: unknown[]]>;
  const ofOperators: Statements = {
    retry: [retrySql, [ids[0], 'ops', uuid, ['mail'], true]],
    cancel: [cancelSql, [id, 'ops', uuid, ['mail'], [60_000]]],
    show: [showSql, [id]],
    'was abandoned': [wasAbandonedSql, [id]],
    purge: [purgeSql, ['mail', '{"accountId": 4711}']],
  };
  const ofCleanUp: Statements = {
    'delete succeeded': [deleteEndedSql, ['mail', 'succeeded', 7 * 86_400_000, 1_000]],
    'delete failed': [deleteEndedSql, ['mail', 'failed', month, 1_000]],
    'delete cancelled': [deleteEndedSql, ['mail', 'cancelled', month, 1_000]],
    'lock failures': [abandon.lockFailuresSql, ['mail', month, 0, '00000000-0000-0000-0000-000000000000', 1_000]],
    'lock orderings': [abandon.lockOrderingsSql, ['mail', keys]],
    'count waiting': [abandon.countWaitingSql, ['mail', ids, keys, ordinals, 10_000]],
    abandon: [abandon.abandonSql, ['mail', ids, keys, ordinals, ids.map(() => 20), ids.map(() => uuid)]],
    'unreferenced events': [events.deleteUnreferencedEventsSql, [month, 1_000]],
    'idle events': [events.deleteIdleEventsSql, [month, 1_000]],
    'audit events': [events.deleteAuditEventsSql, [400 * 86_400_000, 1_000]],
    'page of orderings': [orderings.pageOfOrderingsSql, ['mail', 'key', 1_000, 86_400_000]],
    'idle orderings': [orderings.lockIdleOrderingsSql, ['mail', keys, 86_400_000]],
    'delete orderings': [orderings.deleteOrderingsSql, ['mail', keys]],
  };
  const scans: string[] = [];
  async function look(statements: Statements): Promise<void> {
    for (const [name, [text, values]] of Object.entries(statements)) {
      const plan = await database.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text('deliveries')}`, values);
      const lines = plan.map((row) => row['QUERY PLAN']);
      scans.push(...lines.filter((line) => line.includes('Seq Scan on')).map((line) => `${name}: ${line.trim()}`));
      // A statement that EXPLAIN shows without an index would be one that reads nothing: the test would see nothing.
      expect([name, lines.some((line) => /Index/.test(line))]).toEqual([name, true]);
    }
  }
  await look(ofOperators);
  // As on the workers' connections, where clean-up runs: a sequential scan is what is left when no index can serve. With the
  // default, PostgreSQL 15 reads a table of these few keys from end to end.
  await database.query('SET enable_seqscan TO off');
  await look(ofCleanUp);
  expect(scans).toEqual([]);
});
