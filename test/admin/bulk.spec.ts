import { failed, succeeded, type BulkReport } from 'nest-deliveries';
import { Client } from 'pg';
import { countOf, deadlocks } from '../deliveries/ended-rows';
import { enqueue } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { countByStatus, rowOf } from '../faults/support/rows';
import { scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { insertDeliveries, quiet } from './support/table';

let database: TestDatabase;
const apps: DeliveriesApp[] = [];
const actor = 'ops@example.com';
const hasFailed = "status = 'failed', settled_at = clock_timestamp(), attempts = 1, last_error = '410'";

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
  await database.drop();
});

async function start(channels: ScriptedChannel[], options = {}): Promise<DeliveriesApp> {
  const types = channels.map(({ type }) => type);
  const app = await startDeliveriesApp(database.url, types, { cleanUpInterval: false, listen: false, ...options });
  apps.push(app);
  return app;
}

const mail = (more = {}): ScriptedChannel => scriptedChannel({ name: 'mail', maxAge: '1d', ...more });

/** Calls again with the `next` of the call before, until nothing is left. */
async function toTheEnd(call: (after?: string) => Promise<BulkReport>): Promise<BulkReport[]> {
  const reports = [await call()];
  while (reports.at(-1)!.next !== undefined) reports.push(await call(reports.at(-1)!.next));
  return reports;
}

describe('retry of all that match', () => {
  it('changes what was counted, in chunks, and records each like a single retry', async () => {
    const app = await start([mail(), scriptedChannel({ name: 'post', maxAge: '1d' })], quiet);
    await insertDeliveries(database, { count: 1_205, status: 'failed', error: "'503'" });
    await insertDeliveries(database, { count: 40, status: 'failed', error: "'410'" });
    await insertDeliveries(database, { count: 30, status: 'failed', error: "'503'", channel: 'post' });
    await insertDeliveries(database, { count: 20, status: 'cancelled', error: "'503'" });
    const conditions = { channel: 'mail', error: '503' } as const;

    const { count, capped, asOf } = await app.operations.countMatching('retry', conditions);
    expect({ count, capped }).toEqual({ count: 1_205, capped: false });
    // What comes to match after the count is not what was confirmed.
    await insertDeliveries(database, { count: 3, status: 'failed', error: "'503'", age: "interval '-1 s'" });

    const reports = await toTheEnd((after) =>
      app.operations.retryMatching(conditions, {
        actor,
        asOf,
        limit: 1_000,
        ...(after === undefined ? {} : { after }),
      }),
    );
    expect(reports.map(({ changed, busy }) => [changed, busy])).toEqual([
      [1_000, 0],
      [205, 0],
    ]);
    expect(await countByStatus(database)).toEqual({ pending: 1_205, failed: 73, cancelled: 20 });
    expect(
      await countOf(database, 'deliveries', 'due_at <= now() AND retried_at IS NOT NULL AND settled_at IS NULL'),
    ).toBe(1_205);
    const events = await database.query(
      `SELECT e.type, e.actor, e.payload, count(*)::integer AS n, bool_and(d.xmin = e.xmin) AS together
         FROM deliveries.events e JOIN deliveries.deliveries d ON d.id = e.delivery_id WHERE e.audit GROUP BY 1, 2, 3`,
    );
    const payload = { bulk: true, channel: 'mail', restartedBehind: 0 };
    expect(events).toEqual([{ type: 'delivery_retried', actor, payload, n: 1_205, together: true }]);
  });

  it('keeps the rules of the single retry: deadlines, ordered cancellations, channels that revive nothing', async () => {
    const final = scriptedChannel({ name: 'final', maxAge: '1d', revivesCancelled: false });
    const app = await start([mail(), final], quiet);
    await insertDeliveries(database, { count: 4, status: 'failed' });
    await insertDeliveries(database, { count: 3, status: 'cancelled' });
    await insertDeliveries(database, { count: 2, status: 'cancelled', key: "'k' || n" });
    await insertDeliveries(database, { count: 1, status: 'cancelled', channel: 'final' });
    await database.query(
      `UPDATE deliveries.deliveries SET deadline = clock_timestamp() - interval '1 s'
        WHERE id = (SELECT id FROM deliveries.deliveries WHERE status = 'failed' LIMIT 1)`,
    );
    const of = async (conditions: object): Promise<[number, number]> => {
      const { count } = await app.operations.countMatching('retry', conditions);
      return [count, (await app.operations.retryMatching(conditions, { actor })).changed];
    };
    const ids = (await app.operations.list({ status: 'cancelled' })).deliveries.map(({ id }) => id);
    expect(await of({ olderThan: 0 })).toEqual([3, 3]);
    expect(await of({ status: 'cancelled', channel: 'final' })).toEqual([0, 0]);
    expect(await of({ ids: ids.slice(0, 0) })).toEqual([0, 0]);
    expect(await of({ ids })).toEqual([3, 3]);
    expect(await countByStatus(database)).toEqual({ pending: 6, failed: 1, cancelled: 3 });
  });

  it('spreads what is due, within half of maxAge and within each deadline', async () => {
    const app = await start([mail({ maxAge: '4h' })], quiet);
    await insertDeliveries(database, { count: 300, status: 'failed' });
    await database.query(
      "UPDATE deliveries.deliveries SET deadline = clock_timestamp() + interval '1 minute' WHERE destination = 'customer 7'",
    );
    const spread = async (
      spreadOver: '1h' | '24h',
    ): Promise<{ late: number; early: number; last: number; missed: number }> => {
      await app.operations.retryMatching({ channel: 'mail' }, { actor, spreadOver });
      const [row] = await database.query<{ late: number; early: number; last: number; missed: number }>(
        `SELECT (count(*) FILTER (WHERE ahead > $1::float8 / 2))::integer AS late,
                (count(*) FILTER (WHERE ahead <= $1::float8 / 2))::integer AS early, max(ahead)::float8 AS last,
                (count(*) FILTER (WHERE due_at > deadline))::integer AS missed
           FROM (SELECT due_at, deadline, extract(epoch FROM due_at - retried_at) AS ahead FROM deliveries.deliveries) d`,
        [3_600],
      );
      await database.query("UPDATE deliveries.deliveries SET status = 'failed', settled_at = clock_timestamp()");
      return row!;
    };
    const hour = await spread('1h');
    expect(hour.last).toBeLessThanOrEqual(3_600);
    expect(hour.missed).toBe(0);
    // 297 throws of a coin: fewer than 100 on a side happen once in a hundred million times.
    expect(Math.min(hour.late, hour.early)).toBeGreaterThan(100);
    const day = await spread('24h');
    expect(day.last).toBeLessThanOrEqual(7_200);
    expect(day.last).toBeGreaterThan(3_600);
    await expect(app.operations.retryMatching({ channel: 'mail' }, { actor, spreadOver: '25h' })).rejects.toThrow(
      /^spreadOver must be 24 hours at most/,
    );
  });

  it('restarts the age of what waits behind each head, if it is told to', async () => {
    const channel = mail();
    const app = await start([channel], quiet);
    const heads: string[] = [];
    for (const orderingKey of ['a', 'b', 'c']) {
      heads.push((await enqueue(app, channel, [{}, {}, {}], { orderingKey }))[0]!);
    }
    await database.query(`UPDATE deliveries.deliveries SET ${hasFailed} WHERE id = ANY ($1)`, [heads]);
    const restarted = (): Promise<number> =>
      countOf(database, 'deliveries', "retried_at IS NOT NULL AND attempts = 0 AND status = 'pending'");
    expect(await app.operations.retryMatching({ ids: heads.slice(0, 1) }, { actor })).toMatchObject({ changed: 1 });
    expect(await restarted()).toBe(0);
    const report = await app.operations.retryMatching({ channel: 'mail' }, { actor, restartAgeBehind: true });
    expect(report).toEqual({ changed: 2, busy: 0, next: undefined });
    expect(await restarted()).toBe(4);
    const [event] = await database.query('SELECT payload FROM deliveries.events WHERE delivery_id = $1', [heads[1]]);
    expect(event).toEqual({ payload: { bulk: true, channel: 'mail', restartedBehind: 2 } });
  });

  it('waits for nobody: what somebody holds locked is told apart, and so is what changed meanwhile', async () => {
    const app = await start([mail()], quiet);
    await insertDeliveries(database, { count: 10, status: 'failed' });
    const [one, other] = (await app.operations.list({ limit: 2 })).deliveries.map(({ id }) => id);
    const holder = new Client({ connectionString: database.url });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM deliveries.deliveries WHERE id = $1 FOR UPDATE', [one]);
    expect(await app.operations.retryMatching({ channel: 'mail' }, { actor })).toMatchObject({ changed: 9, busy: 1 });
    await holder.query('ROLLBACK');
    await holder.end();
    expect(await app.operations.retryMatching({ channel: 'mail' }, { actor })).toMatchObject({ changed: 1, busy: 0 });
    expect(await app.operations.retryMatching({ ids: [other!] }, { actor })).toMatchObject({ changed: 0, busy: 0 });
  });
});

describe('cancel of all that match', () => {
  it('cancels what waits and what failed, drops what is in flight, and lets the next of each key go on', async () => {
    const channel = mail({ sendTimeout: '20s', lease: '60s' });
    const send = gate();
    channel.on('gated', async () => {
      await send.passed;
      return succeeded();
    });
    const app = await start([channel]);
    const [flying] = await enqueue(app, channel, [{ script: 'gated' }], { destination: 'gone' });
    await until('it is in flight', () => channel.inFlight().length === 1);
    const later = { notBefore: new Date(Date.now() + 3_600_000) };
    await enqueue(app, channel, [{}, {}], { destination: 'gone', ...later });
    await insertDeliveries(database, { count: 2, status: 'failed' });
    await database.query("UPDATE deliveries.deliveries SET destination = 'gone' WHERE status = 'failed'");
    await enqueue(app, channel, [{}], { destination: 'stays', ...later });
    const [head] = await enqueue(app, channel, [{}], { orderingKey: 'k', destination: 'gone' });
    await until('the head has been sent', async () => (await rowOf(database, head!)).status === 'succeeded');

    const conditions = { destination: 'gone' };
    expect(await app.operations.countMatching('cancel', conditions)).toMatchObject({ count: 5, capped: false });
    expect(await app.operations.cancelMatching(conditions, { actor })).toEqual({
      changed: 5,
      busy: 0,
      next: undefined,
    });
    expect(await countByStatus(database)).toEqual({ cancelled: 5, pending: 1, succeeded: 1 });
    const events = await database.query(
      "SELECT payload->>'was' AS was, payload->'inFlight' AS flying, count(*)::integer AS n FROM deliveries.events WHERE type = 'delivery_cancelled' GROUP BY 1, 2 ORDER BY 1, 2",
    );
    expect(events).toEqual([
      { was: 'failed', flying: false, n: 2 },
      { was: 'pending', flying: false, n: 2 },
      { was: 'pending', flying: true, n: 1 },
    ]);
    send.open();
    await until('its outcome is dropped', () => app.tally.of('mail').lease_lost === 1);
    const { status, lease_expires_at: lease } = await rowOf(database, flying!);
    expect([status, lease]).toEqual(['cancelled', expect.any(Date)]);
    expect((await app.operations.show(flying!)).attemptRows).toMatchObject([{ outcome: 'cancelled' }]);
  });
});

it('refuses what it cannot read before anything is done', async () => {
  const app = await start([mail()], quiet);
  await insertDeliveries(database, { count: 1, status: 'failed' });
  const bad: [string, object, object][] = [
    ['conditions', {}, {}],
    ['conditions', { channel: undefined }, {}],
    ['status', { status: 'succeeded' }, {}],
    ['chanel', { chanel: 'mail' }, {}],
    ['limit', { channel: 'mail' }, { limit: 10_001 }],
    ['after', { channel: 'mail' }, { after: 'there' }],
    ['actor', { channel: 'mail' }, { actor: '' }],
    ['asOf', { channel: 'mail' }, { asOf: 'now' }],
    ['force', { channel: 'mail' }, { force: true }],
    ['ids', { ids: ['1'] }, {}],
    ['createdAfter', { createdAfter: new Date(Number.NaN) }, {}],
  ];
  for (const [path, conditions, options] of bad) {
    const refused = { code: 'DELIVERIES_INVALID_REQUEST', path };
    const given = { actor, ...options };
    await expect(app.operations.retryMatching(conditions, given)).rejects.toMatchObject(refused);
    await expect(app.operations.cancelMatching(conditions, given)).rejects.toMatchObject(refused);
  }
  await expect(app.operations.countMatching('retry', {})).rejects.toThrow(/^conditions must say which deliveries/);
  expect(await countByStatus(database)).toEqual({ failed: 1 });
});

it('goes on beside workers, clean-up and other operators without a deadlock, and leaves each delivery once', async () => {
  const channel = mail({ workers: 2, concurrency: 20 });
  channel.on('fails', () => failed(410));
  const one = await start([channel]);
  const two = await start([channel]);
  await insertDeliveries(database, { count: 2_000, status: 'failed' });
  await insertDeliveries(database, { count: 1_000, age: "interval '8 days'" });
  await enqueue(
    one,
    channel,
    Array.from({ length: 300 }, () => ({ script: 'fails' })),
  );
  const conditions = { channel: 'mail' } as const;
  const reports = await Promise.all([
    toTheEnd((after) => one.operations.retryMatching(conditions, { actor, limit: 300, ...(after ? { after } : {}) })),
    toTheEnd((after) => two.operations.retryMatching(conditions, { actor, limit: 300, ...(after ? { after } : {}) })),
    toTheEnd((after) =>
      two.operations.cancelMatching(
        { status: 'failed', destination: 'customer 7' },
        { actor, ...(after ? { after } : {}) },
      ),
    ),
    one.cleaner.runOnce(),
    two.cleaner.runOnce(),
  ]);
  await until('nothing is pending', async () => (await countOf(database, 'deliveries', "status = 'pending'")) === 0);
  const changed = (reports.slice(0, 3) as BulkReport[][]).flat().reduce((sum, report) => sum + report.changed, 0);
  expect(await countOf(database, 'events', 'audit')).toBe(changed);
  // Whoever was retried a second time had been sent, and had failed, in between.
  const [twice] = await database.query<{ n: number }>(
    `SELECT count(*)::integer AS n
       FROM (SELECT delivery_id, count(*) AS retries FROM deliveries.events WHERE type = 'delivery_retried' GROUP BY 1) e
       JOIN deliveries.deliveries d ON d.id = e.delivery_id
      WHERE d.attempts < e.retries`,
  );
  expect(twice!.n).toBe(0);
  await Promise.all(apps.splice(0).map((app) => app.close()));
  expect(await deadlocks(database)).toBe(0);
});
