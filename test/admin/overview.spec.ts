import { DeliveryOperations, RequestTimeoutError, type ChannelStats } from 'nest-deliveries';
import { Client } from 'pg';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { rowOf } from '../faults/support/rows';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { insertDeliveries, quiet } from './support/table';

let database: TestDatabase;
let app: DeliveriesApp;
const actor = 'ops@example.com';
const mail = () => scriptedChannel({ name: 'mail', maxAge: '1d' });

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await app.close();
  await database.drop();
});

describe('stats', () => {
  const of = async (operations: DeliveryOperations, channel: string): Promise<ChannelStats | undefined> =>
    (await operations.stats()).channels.find((each) => each.channel === channel);

  it('counts what waits, is due, is being sent and failed, in channels that are known and in others', async () => {
    app = await startDeliveriesApp(database.url, [mail().type], quiet);
    await insertDeliveries(database, { count: 10_020, status: 'failed', error: "'410'" });
    await insertDeliveries(database, { count: 6, status: 'pending' });
    await insertDeliveries(database, { count: 4, status: 'pending', channel: 'left over', age: "interval '3 days'" });
    const make = (set: string, customer: number): Promise<unknown> =>
      database.query(
        `UPDATE deliveries.deliveries SET ${set} WHERE status = 'pending' AND channel = 'mail' AND destination = $1`,
        [`customer ${customer}`],
      );
    await make("due_at = clock_timestamp() + interval '1 h'", 1);
    const lease = "claim_token = gen_random_uuid(), lease_expires_at = clock_timestamp() + interval '1 min'";
    await make(`${lease}, due_at = clock_timestamp() + interval '1 min'`, 2);
    // Its worker vanished: another one may take it.
    await make(`${lease}, due_at = clock_timestamp() - interval '1 min'`, 3);
    // The oldest was retried just now, so it has not waited for long.
    await make('retried_at = clock_timestamp()', 6);
    await app.operations.pause({ channel: 'mail', lane: 'l' }, { actor });
    await app.operations.pause({ channel: 'left over' }, { actor });

    expect(await of(app.operations, 'mail')).toEqual({
      channel: 'mail',
      known: true,
      pauses: [],
      pausedLanes: 1,
      pending: { count: 6, capped: false },
      failed: { count: 10_000, capped: true },
      due: 4,
      inFlight: 1,
      oldestPendingSince: expect.any(Date),
    });
    const oldest = (await of(app.operations, 'mail'))!.oldestPendingSince!;
    expect(Date.now() - oldest.getTime()).toBeLessThan(10_000);
    const [row] = await database.query<{ at: Date }>(
      "SELECT created_at AS at FROM deliveries.deliveries WHERE channel = 'mail' AND status = 'pending' AND destination = 'customer 5'",
    );
    expect(oldest).toEqual(row!.at);
    expect(await of(app.operations, 'left over')).toMatchObject({
      known: false,
      pauses: [{ channel: 'left over', lane: null, reason: 'operator', actor, until: null }],
      pending: { count: 4 },
      due: 4,
    });
  });

  it('asks the database once, however many people look, until something is changed', async () => {
    app = await startDeliveriesApp(database.url, [mail().type], quiet);
    const answers = await Promise.all(Array.from({ length: 20 }, () => app.operations.stats()));
    expect(new Set(answers).size).toBe(1);
    // Whoever changed something sees it at once.
    await app.operations.pause({ channel: 'mail' }, { actor });
    expect((await of(app.operations, 'mail'))!.pauses).toHaveLength(1);
    await app.operations.resume({ channel: 'mail' }, { actor });
    expect((await of(app.operations, 'mail'))!.pauses).toEqual([]);
  });
});

describe('throughput', () => {
  it('counts what ended in each bucket, and projects a bucket that holds more than is counted one by one', async () => {
    app = await startDeliveriesApp(database.url, [mail().type], quiet);
    const [clock] = await database.query<{ now: Date }>("SELECT date_trunc('minute', clock_timestamp()) AS now");
    const at = (minutes: number, seconds: number): string =>
      `timestamptz '${new Date(clock!.now.getTime() - minutes * 60_000 + seconds * 1_000).toISOString()}'`;
    await insertDeliveries(database, { count: 60_100 });
    await insertDeliveries(database, { count: 3, status: 'failed', error: "'410'" });
    await insertDeliveries(database, { count: 2, status: 'cancelled', channel: 'post' });
    // Evenly over a minute, and a hundred in another.
    await database.query(
      `UPDATE deliveries.deliveries d SET settled_at = CASE WHEN n <= 60000 THEN ${at(10, 0)} + n * interval '0.99 ms' ELSE ${at(5, 30)} END
         FROM (SELECT id, row_number() OVER () AS n FROM deliveries.deliveries WHERE status = 'succeeded') r WHERE r.id = d.id`,
    );
    await database.query(
      `UPDATE deliveries.deliveries SET settled_at = ${at(5, 10)} WHERE status IN ('failed', 'cancelled')`,
    );

    const { buckets, bucketMs, channels, since, until: end } = await app.operations.throughput({ window: '1h' });
    expect([bucketMs, buckets.length]).toEqual([60_000, 60]);
    expect(since).toEqual(buckets[0]);
    expect(end.getTime()).toBeGreaterThan(buckets[59]!.getTime());
    const bucketAt = (minutes: number): number =>
      buckets.findIndex((each) => each.getTime() === clock!.now.getTime() - minutes * 60_000);
    const [posted, mailed] = [
      channels.find(({ channel }) => channel === 'post')!,
      channels.find(({ channel }) => channel === 'mail')!,
    ];
    expect(mailed.succeeded[bucketAt(5)]).toBe(100);
    expect(mailed.failed[bucketAt(5)]).toBe(3);
    expect([posted.cancelled[bucketAt(5)], posted.estimated]).toEqual([2, false]);
    expect(mailed.estimated).toBe(true);
    const projected = mailed.succeeded[bucketAt(10)]!;
    expect(Math.abs(projected - 60_600)).toBeLessThan(1_000);
    expect(mailed.succeeded.reduce((sum, count) => sum + count, 0)).toBe(projected + 100);

    for (const [path, options] of [
      ['window', { window: '8d' }],
      ['window', { window: 'long' }],
      ['bucket', { window: '1h', bucket: '1s' }],
      ['bucket', { window: '1h', bucket: '2h' }],
      ['span', { span: '1h' }],
    ] as const) {
      await expect(app.operations.throughput(options as never)).rejects.toMatchObject({ path });
    }
  });

  it('does not take a rush at the end of a long bucket for a steady rate', async () => {
    app = await startDeliveriesApp(database.url, [mail().type], quiet);
    await insertDeliveries(database, { count: 4_000 });
    await insertDeliveries(database, { count: 4_000, status: 'failed', error: "'410'" });
    // In the last minute of the bucket before the one of now, a sixtieth of the window long.
    await database.query(
      `UPDATE deliveries.deliveries
          SET settled_at = date_bin('168 min', clock_timestamp(), timestamptz 'epoch') - (1 + random() * 59999) * interval '1 ms'`,
    );
    const { channels } = await app.operations.throughput({ window: '7d' });
    const totals = channels.map(({ succeeded, failed }) =>
      [succeeded, failed].map((numbers) => numbers.reduce((sum, count) => sum + count, 0)),
    );
    expect(totals).toEqual([[4_000, 4_000]]);
  });
});

describe('pause and resume', () => {
  it('hold a channel or a lane back in every process, let what is being sent go on, and are remembered', async () => {
    const channel = mail();
    const send = gate();
    channel.on('gated', async () => {
      await send.passed;
      return { type: 'succeeded' };
    });
    app = await startDeliveriesApp(database.url, [channel.type], { cleanUpInterval: false });
    const flying = await enqueueOne(app, channel, { script: 'gated' });
    await until('it is in flight', () => channel.inFlight().length === 1);
    const soon = new Date(Date.now() + 3_600_000);
    expect(await app.operations.pause({ channel: 'mail' }, { actor, until: soon })).toMatchObject({
      lane: null,
      until: soon,
    });
    const paused = await app.operations.pause({ channel: 'mail' }, { actor: 'somebody else' });
    expect(await app.operations.pauses()).toEqual([paused]);
    expect(paused).toEqual({
      channel: 'mail',
      lane: null,
      reason: 'operator',
      actor: 'somebody else',
      since: expect.any(Date),
      until: null,
    });

    const [plain, ordered] = [
      await enqueueOne(app, channel, {}),
      await enqueueOne(app, channel, {}, { orderingKey: 'k' }),
    ];
    send.open();
    await until('what was in flight has arrived', async () => (await rowOf(database, flying)).status === 'succeeded');
    app.workers.wake();
    expect(channel.calls).toHaveLength(1);
    expect(await app.operations.resume({ channel: 'mail' }, { actor })).toEqual([paused]);
    await until('the rest has arrived', async () =>
      (await Promise.all([plain, ordered].map((id) => rowOf(database, id)))).every(
        ({ status }) => status === 'succeeded',
      ),
    );
    // A pause whose time has come holds nothing, and is nothing to resume.
    await app.operations.pause({ channel: 'mail', lane: 'l' }, { actor, until: soon });
    await database.query('UPDATE deliveries.delivery_pauses SET until = clock_timestamp()');
    expect(await app.operations.pauses()).toEqual([]);
    expect(await app.operations.resume({ channel: 'mail', lane: 'l' }, { actor })).toEqual([]);

    const { events } = await app.operations.audit();
    expect(events.map(({ type, actor: who, payload, deliveryId }) => [type, who, payload, deliveryId])).toEqual([
      ['channel_paused', actor, { channel: 'mail', lane: 'l', until: expect.any(String) }, null],
      ['channel_resumed', actor, { channel: 'mail', lane: null, reasons: ['operator'] }, null],
      ['channel_paused', 'somebody else', { channel: 'mail', lane: null, until: null }, null],
      ['channel_paused', actor, { channel: 'mail', lane: null, until: expect.any(String) }, null],
    ]);
    // Kept like everything that operators did, and longer than what the application recorded.
    await database.query(
      "UPDATE deliveries.events SET occurred_at = clock_timestamp() - interval '399 days' WHERE audit",
    );
    expect(await app.cleaner.runOnce()).toMatchObject({ events: 0, auditEvents: 0 });
    await database.query(
      "UPDATE deliveries.events SET occurred_at = clock_timestamp() - interval '401 days' WHERE audit",
    );
    expect(await app.cleaner.runOnce()).toMatchObject({ auditEvents: 4 });

    for (const [path, target, options] of [
      ['channel', {}, { actor }],
      ['channel', { channel: 'mial' }, { actor }],
      ['lane', { channel: 'mail', lane: '' }, { actor }],
      ['until', { channel: 'mail' }, { actor, until: new Date(0) }],
      ['for', { channel: 'mail' }, { actor, until: soon, for: '1h' }],
      ['for', { channel: 'mail' }, { actor, for: 0 }],
      ['for', { channel: 'mail' }, { actor, for: '3651d' }],
      ['for', { channel: 'mail' }, { actor, for: 'ever' }],
      ['actor', { channel: 'mail' }, {}],
    ] as const) {
      await expect(app.operations.pause(target as never, options as never)).rejects.toMatchObject({ path });
    }
    expect(await app.operations.pauses()).toEqual([]);

    // By the database's clock, wherever the one of this process stands.
    const clock = jest.spyOn(Date, 'now').mockReturnValue(soon.getTime() + 3_600_000);
    const forAnHour = await app.operations.pause({ channel: 'mail' }, { actor, for: '1h' });
    expect(forAnHour.until!.getTime() - forAnHour.since.getTime()).toBe(3_600_000);
    expect(await app.operations.pause({ channel: 'mail', lane: 'l' }, { actor, until: soon })).toMatchObject({
      until: soon,
    });
    clock.mockRestore();
  });
});

describe('audit', () => {
  it('pages through what was done, newest first, by delivery, actor and type', async () => {
    const channel = mail();
    app = await startDeliveriesApp(database.url, [channel.type], quiet);
    const ids = await enqueue(
      app,
      channel,
      Array.from({ length: 12 }, () => ({})),
    );
    for (const [at, id] of ids.entries()) await app.operations.cancel(id, { actor: at % 2 === 0 ? 'ada' : 'bob' });
    await app.operations.retry(ids[0]!, { actor: 'bob' });
    const pagesOf = async (filter: object): Promise<(string | null)[]> => {
      const seen: (string | null)[] = [];
      let after: string | undefined;
      do {
        const page = await app.operations.audit({ ...filter, limit: 5, ...(after === undefined ? {} : { after }) });
        seen.push(...page.events.map(({ deliveryId }) => deliveryId));
        after = page.next;
      } while (after !== undefined);
      return seen;
    };
    expect(await pagesOf({})).toEqual([ids[0], ...ids.toReversed()]);
    expect(await pagesOf({ actor: 'ada' })).toEqual(ids.filter((_, at) => at % 2 === 0).toReversed());
    expect(await pagesOf({ type: 'delivery_retried' })).toEqual([ids[0]]);
    expect(await pagesOf({ deliveryId: ids[0] })).toEqual([ids[0], ids[0]]);
    // What the application recorded is no part of it.
    expect(await pagesOf({ type: 'delivery_enqueued' })).toEqual([]);
    for (const [path, filter] of [
      ['deliveryId', { deliveryId: '1' }],
      ['limit', { limit: 0 }],
      ['acter', { acter: 'ada' }],
    ] as const) {
      await expect(app.operations.audit(filter as never)).rejects.toMatchObject({ path });
    }
  });
});

it('a read that takes too long is withdrawn, and says so; the connection serves the next', async () => {
  app = await startDeliveriesApp(database.url, [mail().type], quiet, 1);
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  await holder.query('BEGIN; LOCK TABLE deliveries.deliveries IN ACCESS EXCLUSIVE MODE');
  const refused = app.operations.list();
  await expect(refused).rejects.toThrow(RequestTimeoutError);
  await expect(refused).rejects.toThrow(/^The database took longer than 3 s to answer/);
  await holder.query('ROLLBACK');
  await holder.end();
  expect(await app.operations.list()).toEqual({ deliveries: [], next: undefined, searchedTo: null });
});
