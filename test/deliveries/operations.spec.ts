import {
  DeliveryNotFoundError,
  DeliveryStateError,
  failed,
  InvalidRequestError,
  OrderedPurgeError,
  retry,
  succeeded,
  TransactionRequiredError,
  type DeliveryFilter,
} from 'nest-deliveries';
import { randomUUID } from 'node:crypto';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { attemptsOf, rowOf } from '../faults/support/rows';
import { scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let app: DeliveriesApp;

/** Nobody comes by on a poll: what happens is due to what the test did. */
const noPolls = { pollInterval: '1h' } as const;
const actor = 'ops@example.com';

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await app?.close();
  await database.drop();
});

/** A channel with workers, or, with `run: []`, one whose deliveries stay as the test makes them. */
async function startWith(
  channel: ScriptedChannel | ScriptedChannel[],
  options: Parameters<typeof startDeliveriesApp>[2] = noPolls,
): Promise<void> {
  app = await startDeliveriesApp(
    database.url,
    [channel].flat().map(({ type }) => type),
    options,
  );
}

/** Changes a delivery by hand: `set` is the SET of an UPDATE. */
const make = (id: string, set: string): Promise<unknown> =>
  database.query(`UPDATE deliveries.deliveries SET ${set} WHERE id = $1`, [id]);

const hasFailed = "status = 'failed', settled_at = clock_timestamp(), attempts = 1, last_error = '410'";

const audit = (id: string): Promise<Record<string, unknown>[]> =>
  database.query('SELECT type, actor, payload FROM deliveries.events WHERE delivery_id = $1 ORDER BY occurred_at', [
    id,
  ]);

describe('retry', () => {
  const mail = (): ScriptedChannel => scriptedChannel({ name: 'mail', maxAge: '1d' });

  it('makes a failed delivery due now with its age, backoff and crashes begun anew, and is remembered in the same transaction', async () => {
    const channel = mail();
    await startWith(channel, { run: [] });
    const deadline = new Date(Date.now() + 3_600_000);
    const id = await enqueueOne(app, channel, {}, { deadline });
    await make(
      id,
      `${hasFailed.replace('attempts = 1', 'attempts = 5')}, crashes = 4, created_at = created_at - interval '3 days', due_at = due_at - interval '2 days'`,
    );
    const began = new Date();

    const { dueAt, restartedBehind } = await app.operations.retry(id, { actor });

    const [row] = await database.query(
      `SELECT status, attempts, attempts_at_retry, crashes, settled_at, deadline, due_at, retried_at, claim_token,
              d.xmin = e.xmin AS together
         FROM deliveries.deliveries d JOIN deliveries.events e ON e.delivery_id = d.id WHERE d.id = $1`,
      [id],
    );
    const near = (value: unknown): boolean => Math.abs((value as Date).getTime() - began.getTime()) < 5_000;
    expect(row).toMatchObject({
      status: 'pending',
      attempts: 5,
      attempts_at_retry: 5,
      crashes: 0,
      settled_at: null,
      deadline,
      claim_token: null,
      together: true,
    });
    expect([near(row!['due_at']), near(row!['retried_at']), near(dueAt)]).toEqual([true, true, true]);
    expect(restartedBehind).toBe(0);
    expect(await audit(id)).toEqual([
      { type: 'delivery_retried', actor, payload: { channel: 'mail', restartedBehind: 0 } },
    ]);
  });

  it('sends it again under the same id and wakes the workers of this process', async () => {
    const channel = mail();
    channel.on('fails once', (_, { number }) => (number === 1 ? failed(410) : succeeded()));
    await startWith(channel);
    const id = await enqueueOne(app, channel, { script: 'fails once' });
    app.workers.wake();
    await until('it has failed', async () => (await rowOf(database, id)).status === 'failed');
    // Older than maxAge by far: only its restart lets it be sent.
    await make(id, "created_at = created_at - interval '30 days'");

    await app.operations.retry(id, { actor });

    await until('it has arrived', async () => (await rowOf(database, id)).status === 'succeeded');
    expect(channel.calls.map((call) => [call.id, call.attempt])).toEqual([
      [id, 1],
      [id, 2],
    ]);
    expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'failed', error: '410' }]);
  });

  it('revives a cancelled delivery that has no ordering key, where the channel allows it', async () => {
    const revives = mail();
    const final = scriptedChannel({ name: 'final', maxAge: '1d', revivesCancelled: false });
    await startWith([revives, final], { run: [] });
    const ids = [
      await enqueueOne(app, revives, {}),
      await enqueueOne(app, revives, {}, { orderingKey: 'k' }),
      await enqueueOne(app, final, {}),
    ];
    for (const id of ids) {
      await app.operations.cancel(id, { actor });
    }
    await app.operations.retry(ids[0]!, { actor });
    expect(await rowOf(database, ids[0]!)).toMatchObject({ status: 'pending', settled_at: null });
    for (const [id, reason] of [
      [ids[1]!, /ordering key/],
      [ids[2]!, /revivesCancelled/],
    ] as const) {
      const refused = app.operations.retry(id, { actor });
      await expect(refused).rejects.toMatchObject({ code: 'DELIVERIES_STATE', status: 'cancelled', inFlight: false });
      await expect(refused).rejects.toThrow(reason);
      expect(await audit(id)).toHaveLength(1);
    }
  });

  it('refuses a delivery whose deadline has passed, and says so', async () => {
    const channel = mail();
    await startWith(channel, { run: [] });
    const id = await enqueueOne(app, channel, {}, { deadline: new Date(Date.now() + 60_000) });
    await make(id, `${hasFailed}, deadline = clock_timestamp() - interval '1 second'`);
    await expect(app.operations.retry(id, { actor })).rejects.toThrow(/is failed: no retry. Its deadline has passed/);
    expect(await rowOf(database, id)).toMatchObject({ status: 'failed' });
    expect(await audit(id)).toEqual([]);
  });

  it('sends a failed head before those that waited behind it, whose age it can restart too', async () => {
    const channel = mail();
    channel.on('fails once', (_, { number }) => (number === 1 ? failed(410) : succeeded()));
    await startWith(channel);
    const head = await enqueueOne(app, channel, { script: 'fails once', n: 0 }, { orderingKey: 'k' });
    const behind = await enqueue(app, channel, [{ n: 1 }, { n: 2 }], { orderingKey: 'k' });
    const elsewhere = await enqueueOne(app, channel, { script: 'gated', n: 9 }, { orderingKey: 'other' });
    app.workers.wake();
    await until('the head has failed', async () => (await rowOf(database, head)).status === 'failed');
    await until('the other key is done', async () => (await rowOf(database, elsewhere)).status === 'succeeded');
    // All of them are older than maxAge: without the restart, those behind would expire one by one.
    await database.query("UPDATE deliveries.deliveries SET created_at = created_at - interval '30 days'");

    const { restartedBehind } = await app.operations.retry(head, { actor, restartAgeBehind: true });

    expect(restartedBehind).toBe(2);
    await until('all have arrived', async () => (await rowOf(database, behind[1]!)).status === 'succeeded');
    expect(channel.calls.filter(({ id }) => id !== elsewhere).map(({ payload }) => payload.n)).toEqual([0, 0, 1, 2]);
    const [other] = await database.query<{ retried_at: Date | null }>(
      'SELECT retried_at FROM deliveries.deliveries WHERE id = $1',
      [elsewhere],
    );
    expect(other!.retried_at).toBeNull();
    expect(await audit(head)).toMatchObject([{ payload: { restartedBehind: 2 } }]);
  });

  it('leaves the age of those behind alone unless it is told otherwise', async () => {
    const channel = mail();
    await startWith(channel, { run: [] });
    const [head, behind] = await enqueue(app, channel, [{}, {}], { orderingKey: 'k' });
    await make(head!, hasFailed);
    expect(await app.operations.retry(head!, { actor })).toMatchObject({ restartedBehind: 0 });
    const rows = await database.query('SELECT id FROM deliveries.deliveries WHERE retried_at IS NULL');
    expect(rows).toEqual([{ id: behind }]);
  });

  it('refuses to be anonymous', async () => {
    const channel = mail();
    await startWith(channel, { run: [] });
    const id = await enqueueOne(app, channel, {});
    await make(id, hasFailed);
    for (const nobody of ['', 'x'.repeat(201), 'a\0b', '\ud800', undefined as unknown as string]) {
      await expect(app.operations.retry(id, { actor: nobody })).rejects.toThrow(InvalidRequestError);
      await expect(app.operations.cancel(id, { actor: nobody })).rejects.toThrow(/^actor must/);
    }
    // As plain JavaScript calls it.
    const nothing = undefined as never;
    const calls: (() => Promise<unknown>)[] = [
      () => app.operations.retry(id, nothing),
      () => app.operations.cancel(id, nothing),
      () => app.operations.retryMatching({ channel: 'mail' }, nothing),
      () => app.operations.cancelMatching({ channel: 'mail' }, nothing),
      () => app.operations.retryMatching(nothing, { actor: 'ada' }),
      () => app.operations.countMatching('retry', nothing),
      () => app.operations.pause({ channel: 'mail' }, nothing),
      () => app.operations.pause(nothing, { actor: 'ada' }),
      () => app.operations.resume({ channel: 'mail' }, nothing),
      () => app.operations.list(null as never),
      () => app.dataSource.transaction((tx) => app.operations.purge(tx, channel.type, nothing)),
    ];
    for (const call of calls) await expect((async () => call())()).rejects.toThrow(InvalidRequestError);
    expect(await rowOf(database, id)).toMatchObject({ status: 'failed' });
  });
});

describe('cancel', () => {
  it('ends a pending or a failed delivery, with its event in the same transaction', async () => {
    const channel = scriptedChannel({ name: 'mail', maxAge: '1d' });
    await startWith(channel, { run: [] });
    const [pending, broken] = await enqueue(app, channel, [{}, {}]);
    await make(broken!, hasFailed);
    expect(await app.operations.cancel(pending!, { actor })).toEqual({ was: 'pending', wasInFlight: false });
    expect(await app.operations.cancel(broken!, { actor })).toEqual({ was: 'failed', wasInFlight: false });
    for (const [id, was] of [
      [pending!, 'pending'],
      [broken!, 'failed'],
    ] as const) {
      const [row] = await database.query(
        `SELECT status, settled_at IS NOT NULL AS settled, d.xmin = e.xmin AS together
           FROM deliveries.deliveries d JOIN deliveries.events e ON e.delivery_id = d.id WHERE d.id = $1`,
        [id],
      );
      expect(row).toEqual({ status: 'cancelled', settled: true, together: true });
      expect(await audit(id)).toEqual([
        { type: 'delivery_cancelled', actor, payload: { channel: 'mail', was, inFlight: false } },
      ]);
      await expect(app.operations.cancel(id, { actor })).rejects.toMatchObject({ status: 'cancelled' });
    }
    expect(await attemptsOf(database, pending!, broken!)).toEqual([]);
  });

  it('releases the next of a key at once when the head backs off', async () => {
    const channel = scriptedChannel({ name: 'mail', maxAge: '1d', retry: { first: '1h', max: '1h' } });
    channel.on('busy', () => retry(503));
    await startWith(channel);
    const head = await enqueueOne(app, channel, { script: 'busy' }, { orderingKey: 'k' });
    const next = await enqueueOne(app, channel, {}, { orderingKey: 'k' });
    app.workers.wake();
    await until('it backs off', async () => (await rowOf(database, head)).last_error === '503');
    expect(await rowOf(database, next)).toMatchObject({ status: 'pending', attempts: 0 });

    await app.operations.cancel(head, { actor });

    await until('the next has arrived', async () => (await rowOf(database, next)).status === 'succeeded');
    expect(channel.calls.map(({ id }) => id)).toEqual([head, next]);
  });

  it('drops the outcome of an attempt in flight, and releases the next when that lease ends', async () => {
    const channel = scriptedChannel({ name: 'mail', maxAge: '1d', sendTimeout: '20s', lease: '60s' });
    const send = gate();
    channel.on('gated', async () => {
      await send.passed;
      return succeeded();
    });
    await startWith(channel);
    const head = await enqueueOne(app, channel, { script: 'gated' }, { orderingKey: 'k' });
    const next = await enqueueOne(app, channel, {}, { orderingKey: 'k' });
    app.workers.wake();
    await until('it is in flight', () => channel.inFlight().length === 1);
    const { lease_expires_at: lease } = await rowOf(database, head);

    expect(await app.operations.cancel(head, { actor })).toEqual({ was: 'pending', wasInFlight: true });
    expect(await rowOf(database, head)).toMatchObject({
      status: 'cancelled',
      claim_token: null,
      lease_expires_at: lease,
    });
    const { blockedBy } = await app.operations.show(next);
    expect(blockedBy).toMatchObject({ id: head, status: 'cancelled' });

    send.open();
    await until('the outcome is dropped', () => app.tally.of('mail').lease_lost === 1);
    // A head that is due in a key of its own arrives: the claim of heads has looked at every key, and left the other one alone.
    const probe = await enqueueOne(app, channel, {}, { orderingKey: 'z' });
    app.workers.wake();
    await until('the probe has arrived', async () => (await rowOf(database, probe)).status === 'succeeded');
    expect(await rowOf(database, next)).toMatchObject({ status: 'pending', attempts: 0 });

    await make(head, 'lease_expires_at = clock_timestamp()');
    app.workers.wake();
    await until('the next has arrived', async () => (await rowOf(database, next)).status === 'succeeded');
    expect(await rowOf(database, head)).toMatchObject({ status: 'cancelled', attempts: 1, lease_expires_at: null });
    expect(await attemptsOf(database, head)).toEqual([{ number: 1, outcome: 'cancelled', error: 'cancelled' }]);
    const { attemptRows } = await app.operations.show(head);
    const lasted = attemptRows[0]!.endedAt.getTime() - attemptRows[0]!.startedAt.getTime();
    expect(lasted).toBeGreaterThanOrEqual(0);
    expect(lasted).toBeLessThan(10_000);
  });

  it('makes an unordered one that is then retried wait for the lease of the attempt that was cancelled', async () => {
    const channel = scriptedChannel({ name: 'mail', maxAge: '1d', sendTimeout: '20s', lease: '60s' });
    const send = gate();
    channel.on('gated', async (_, { number }) => {
      if (number === 1) await send.passed;
      return succeeded();
    });
    await startWith(channel);
    const id = await enqueueOne(app, channel, { script: 'gated' });
    app.workers.wake();
    await until('it is in flight', () => channel.inFlight().length === 1);
    const { lease_expires_at: lease } = await rowOf(database, id);
    await app.operations.cancel(id, { actor });
    expect(await app.operations.retry(id, { actor })).toEqual({ dueAt: lease, restartedBehind: 0 });
    send.open();
    await until('the outcome is dropped', () => app.tally.of('mail').lease_lost === 1);
    expect(channel.calls).toHaveLength(1);

    await make(id, 'due_at = clock_timestamp()');
    app.workers.wake();
    await until('it has arrived', async () => (await rowOf(database, id)).status === 'succeeded');
    // Attempts and their rows add up: the first was cancelled, the second simply succeeded.
    expect(await rowOf(database, id)).toMatchObject({ attempts: 2 });
    expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'cancelled', error: 'cancelled' }]);
  });

  it('writes an attempt down as crashed when its lease had run out, and keeps no lease', async () => {
    const channel = scriptedChannel({ name: 'mail', maxAge: '1d' });
    await startWith(channel, { run: [] });
    const [head, next] = await enqueue(app, channel, [{}, {}], { orderingKey: 'k' });
    await make(
      head!,
      "claim_token = gen_random_uuid(), attempts = 1, lease_expires_at = clock_timestamp() - interval '1 s', due_at = clock_timestamp()",
    );
    await app.operations.cancel(head!, { actor });
    expect(await rowOf(database, head!)).toMatchObject({ claim_token: null, lease_expires_at: null });
    expect(await attemptsOf(database, head!)).toEqual([{ number: 1, outcome: 'crashed', error: 'crashed' }]);
    expect((await app.operations.show(next!)).blockedBy).toBeNull();
  });
});

describe('show', () => {
  it('tells all that is known, and what a waiting one waits for', async () => {
    const channel = scriptedChannel({ name: 'mail', maxAge: '1d', retry: { first: '1h', max: '1h' } });
    channel.on('busy', () => retry(503));
    await startWith(channel);
    const [head, middle, last] = await enqueue(app, channel, [{ script: 'busy' }, {}, {}], {
      orderingKey: 'k',
      destination: 'somebody',
      recipient: { accountId: 7 },
    });
    app.workers.wake();
    await until('it backs off', async () => (await rowOf(database, head!)).last_error === '503');

    const shown = await app.operations.show(head!);
    expect(shown).toMatchObject({
      id: head,
      channel: 'mail',
      destination: 'somebody',
      orderingKey: 'k',
      status: 'pending',
      inFlight: false,
      attempts: 1,
      lastError: '503',
      payload: { script: 'busy' },
      recipient: { accountId: 7 },
      event: { type: 'delivery_enqueued', payload: { channel: 'mail' }, actor: null },
      operations: [],
      blockedBy: null,
    });
    expect(shown.event!.id).toBe(shown.eventId);
    expect(shown.event!.occurredAt).toBeInstanceOf(Date);
    expect(shown.attemptRows).toEqual([
      { number: 1, outcome: 'retried', error: '503', startedAt: expect.any(Date), endedAt: expect.any(Date) },
    ]);
    // The head is in the way of all of them, and not whichever comes just before.
    expect((await app.operations.show(middle!)).blockedBy).toMatchObject({ id: head, lastError: '503', attempts: 1 });
    expect((await app.operations.show(last!)).blockedBy).toEqual({
      id: head,
      status: 'pending',
      inFlight: false,
      attempts: 1,
      lastError: '503',
      dueAt: shown.dueAt,
    });

    await app.operations.cancel(head!, { actor });
    await until('the last has arrived', async () => (await rowOf(database, last!)).status === 'succeeded');
    expect(await app.operations.show(head!)).toMatchObject({
      status: 'cancelled',
      operations: [{ type: 'delivery_cancelled', actor }],
      blockedBy: null,
    });
    expect((await app.operations.show(last!)).blockedBy).toBeNull();
  });

  it('refuses an id that nobody has', async () => {
    await startWith(scriptedChannel({ name: 'mail', maxAge: '1d' }), { run: [] });
    const unknown = randomUUID();
    for (const id of [unknown, 'not a uuid', "'; DROP TABLE x; --"]) {
      for (const work of [
        () => app.operations.show(id),
        () => app.operations.retry(id, { actor }),
        () => app.operations.cancel(id, { actor }),
      ]) {
        const refused = work();
        await expect(refused).rejects.toThrow(DeliveryNotFoundError);
        await expect(refused).rejects.toMatchObject({ code: 'DELIVERIES_NOT_FOUND', abandoned: false });
      }
    }
  });
});

describe('list', () => {
  it('filters by everything that it names, newest first, and pages without a gap or a double', async () => {
    const mail = scriptedChannel({ name: 'mail', maxAge: '1d' });
    const post = scriptedChannel({ name: 'post', maxAge: '1d' });
    await startWith([mail, post], { run: [] });
    const letters = await enqueue(app, mail, [{}, {}, {}], { orderingKey: 'k', destination: 'left' });
    const parcels = await enqueue(app, post, [{}, {}], { destination: 'right' });
    await make(letters[0]!, hasFailed);
    await make(parcels[0]!, "created_at = created_at - interval '2 days'");
    const ids = async (filter: DeliveryFilter): Promise<Set<string>> =>
      new Set((await app.operations.list(filter)).deliveries.map(({ id }) => id));

    expect(await ids({})).toEqual(new Set([...letters, ...parcels]));
    expect(await ids({ status: 'failed' })).toEqual(new Set([letters[0]]));
    expect(await ids({ status: 'cancelled' })).toEqual(new Set());
    expect(await ids({ channel: 'post' })).toEqual(new Set(parcels));
    expect(await ids({ channel: 'mail', orderingKey: 'k', status: 'pending' })).toEqual(new Set(letters.slice(1)));
    expect(await ids({ destination: 'right' })).toEqual(new Set(parcels));
    expect(await ids({ error: '410' })).toEqual(new Set([letters[0]]));
    expect(await ids({ olderThan: '1d' })).toEqual(new Set([parcels[0]]));
    expect(await ids({ newerThan: '1d' })).toEqual(new Set([...letters, parcels[1]]));
    expect(await ids({ olderThan: '1d', newerThan: '1d' })).toEqual(new Set());

    const [summary] = (await app.operations.list({ status: 'failed' })).deliveries;
    expect(summary).toMatchObject({ id: letters[0], orderingKey: 'k', attempts: 1, lastError: '410', inFlight: false });
    expect(summary).not.toHaveProperty('payload');

    // Many of the same instant, to the microsecond: the id decides, and pages meet without a gap.
    const many = await enqueue(
      app,
      mail,
      Array.from({ length: 25 }, () => ({})),
    );
    await database.query(
      "UPDATE deliveries.deliveries SET created_at = '2026-01-01 00:00:00.123456+00' WHERE id = ANY($1::uuid[])",
      [many],
    );
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const page = await app.operations.list({ limit: 4, ...(after === undefined ? {} : { after }) });
      expect(page.deliveries.length).toBeLessThanOrEqual(4);
      seen.push(...page.deliveries.map(({ id }) => id));
      after = page.next;
    } while (after !== undefined);
    const all = await database.query<{ id: string }>(
      'SELECT id FROM deliveries.deliveries ORDER BY created_at DESC, id DESC',
    );
    expect(seen).toEqual(all.map(({ id }) => id));
    expect((await app.operations.list({ limit: 30 })).next).toBeUndefined();
  });

  it.each([
    ['status', { status: 'done' }],
    ['limit', { limit: 0 }],
    ['limit', { limit: 1_001 }],
    ['limit', { limit: 1.5 }],
    ['olderThan', { olderThan: 'yesterday' }],
    ['after', { after: 'page 2' }],
    ['after', { after: '1_2_3' }],
    ['channel', { channel: 7 }],
    ['destination', { destination: 'a\0b' }],
    ['sort', { sort: 'age' }],
  ])('refuses a bad %s', async (path, filter) => {
    await startWith(scriptedChannel({ name: 'mail', maxAge: '1d' }), { run: [] });
    await expect(app.operations.list(filter as DeliveryFilter)).rejects.toMatchObject({
      code: 'DELIVERIES_INVALID_REQUEST',
      path,
    });
  });
});

describe('purge', () => {
  const countOf = async (): Promise<number> =>
    (await database.query<{ n: number }>('SELECT count(*)::integer AS n FROM deliveries.deliveries'))[0]!.n;

  it("erases a person's deliveries of one channel, with the caller's transaction or not at all", async () => {
    const mail = scriptedChannel({ name: 'mail', maxAge: '1d' });
    const post = scriptedChannel({ name: 'post', maxAge: '1d' });
    await startWith([mail, post], { run: [] });
    const recipient = { accountId: 7, locale: 'de' };
    const [first, second] = await enqueue(app, mail, [{}, {}], { recipient });
    await make(second!, hasFailed);
    await database.query(
      "INSERT INTO deliveries.delivery_attempts VALUES ($1, 1, clock_timestamp(), clock_timestamp(), 'failed', '410')",
      [second],
    );
    await enqueue(app, mail, [{}], { recipient: { accountId: 77 } });
    await enqueue(app, mail, [{}]);
    await enqueue(app, post, [{}], { recipient });

    const boom = new Error('boom');
    const rolledBack = app.dataSource.transaction(async (tx) => {
      expect(await app.operations.purge(tx, mail.type, { recipient: { accountId: 7 } })).toBe(2);
      throw boom;
    });
    await expect(rolledBack).rejects.toBe(boom);
    expect(await countOf()).toBe(5);

    const erased = await app.dataSource.transaction((tx) =>
      app.operations.purge(tx, mail.type, { recipient: { accountId: 7 } }),
    );
    expect(erased).toBe(2);
    expect(await countOf()).toBe(3);
    expect(await attemptsOf(database, first!, second!)).toEqual([]);
    expect(
      await app.dataSource.transaction((tx) => app.operations.purge(tx, mail.type, { recipient: { accountId: 7 } })),
    ).toBe(0);
  });

  it('is refused for ordered deliveries, outside a transaction, and for what would be everybody', async () => {
    const mail = scriptedChannel({ name: 'mail', maxAge: '1d' });
    await startWith(mail, { run: [] });
    await enqueue(app, mail, [{}], { recipient: { accountId: 7 } });
    await enqueue(app, mail, [{}], { recipient: { accountId: 7 }, orderingKey: 'k' });
    const purge = (recipient: unknown): Promise<number> =>
      app.dataSource.transaction(async (tx) => {
        await expect(app.operations.purge(tx, mail.type, { recipient })).rejects.toMatchObject({
          code: expect.stringMatching(/^DELIVERIES_(ORDERED_PURGE|INVALID_REQUEST)$/) as string,
        });
        // The transaction is still usable after the refusal.
        await tx.query('SELECT 1');
        return app.operations.purge(tx, mail.type, { recipient });
      });
    await expect(purge({ accountId: 7 })).rejects.toThrow(OrderedPurgeError);
    await expect(purge({ accountId: 7 })).rejects.toMatchObject({ ordered: 1 });
    for (const everybody of [
      {},
      [],
      undefined,
      { accountId: undefined },
      { account: {} },
      { ids: [] },
      { at: new Date() },
      { n: Number.NaN },
      'a\0b',
    ]) {
      await expect(purge(everybody)).rejects.toThrow(InvalidRequestError);
    }
    const outside = app.operations.purge(app.dataSource.manager, mail.type, { recipient: { accountId: 7 } });
    await expect(outside).rejects.toThrow(TransactionRequiredError);
    expect(await countOf()).toBe(2);
  });

  it('in an open transaction holds up neither a settle, nor a claim, nor clean-up; an attempt in flight is dropped', async () => {
    // One worker: when it has claimed, nobody's look is still under way that could take what the purge is to find.
    const mail = scriptedChannel({ name: 'mail', maxAge: '1d', workers: 1, sendTimeout: '20s', lease: '60s' });
    const send = gate();
    mail.on('gated', async () => {
      await send.passed;
      return succeeded();
    });
    await startWith(mail);
    const recipient = { accountId: 7 };
    const inFlight = await enqueueOne(app, mail, { script: 'gated' }, { recipient });
    app.workers.wake();
    await until('it is in flight', () => mail.inFlight().length === 1);
    const [old, waiting] = await enqueue(app, mail, [{}, {}], { recipient });
    await make(old!, "status = 'succeeded', settled_at = clock_timestamp() - interval '8 days'");

    await app.dataSource.transaction(async (tx) => {
      expect(await app.operations.purge(tx, mail.type, { recipient })).toBe(3);
      const other = await enqueueOne(app, mail, {});
      send.open();
      app.workers.wake();
      await until('another delivery has arrived', async () => (await rowOf(database, other)).status === 'succeeded');
      expect(await app.cleaner.runOnce()).toMatchObject({ deleted: { succeeded: 0 }, complete: true });
    });
    await until('the outcome is dropped', () => app.tally.of('mail').lease_lost === 1);
    expect(mail.calls.some(({ id }) => id === waiting)).toBe(false);
    await expect(app.operations.show(inFlight)).rejects.toThrow(DeliveryNotFoundError);
  });
});

it('names the state in its errors', async () => {
  const error = new DeliveryStateError('x', 'retry', 'pending', true, 'Wait.');
  expect(error.message).toBe('Delivery x is pending and being sent: no retry. Wait.');
  await startWith(scriptedChannel({ name: 'mail', maxAge: '1d' }), { run: [] });
});
