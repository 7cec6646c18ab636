import { type CountedOutcome, failed, type Outcome, retry, skipped, succeeded } from 'nest-deliveries';
import { Client } from 'pg';
import { settleSuccessesSql } from '../../libs/deliveries/src/settle/settle.sql';
import { captureLog } from '../faults/support/captured-log';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { type Line, lineTo } from '../faults/support/line';
import { attemptsOf, expireLease, rowOf, rowsOf } from '../faults/support/rows';
import { type Play, scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let apps: DeliveriesApp[] = [];
let line: Line | undefined;
let other: Client | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await other?.end();
  line?.thaw();
  await Promise.all(apps.map((app) => app.close()));
  await line?.close();
  apps = [];
  line = other = undefined;
  await database.drop();
});

async function start(...arguments_: Parameters<typeof startDeliveriesApp>): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(...arguments_);
  apps.push(app);
  return app;
}

/** Somebody else's session, in a transaction that holds the row of a delivery locked. */
async function lockRow(id: string): Promise<Client> {
  other = new Client({ connectionString: database.url });
  await other.connect();
  await other.query('BEGIN');
  await other.query('SELECT FROM deliveries.deliveries WHERE id = $1 FOR UPDATE', [id]);
  return other;
}

/** Lets one delivery pass, after which the worker has claimed for the last time until it is woken. */
async function untilIdle(app: DeliveriesApp, channel: ScriptedChannel): Promise<void> {
  await enqueueOne(app, channel, {});
  app.workers.wake();
  await until('the first delivery has passed', () => app.tally.of('mail').succeeded === 1);
}

/** A channel of one worker whose sends wait for a gate of their own and then play the script. */
function gatedChannel(
  settings: Partial<Parameters<typeof scriptedChannel>[0]> = {},
  onFailed?: Parameters<typeof scriptedChannel>[1],
): { channel: ScriptedChannel; open: () => void; play: (play: Play) => void } {
  const channel = scriptedChannel(
    { name: 'mail', maxAge: '1d', workers: 1, sendTimeout: '20s', lease: '60s', ...settings },
    onFailed,
  );
  const { passed, open } = gate();
  let then: Play = succeeded;
  channel.on('gated', async (delivery, attempt) => {
    await passed;
    return then(delivery, attempt);
  });
  return { channel, open, play: (play) => void (then = play) };
}

const tallied = (app: DeliveriesApp, counts: Partial<Record<CountedOutcome, number>>): void =>
  expect(app.tally.of('mail')).toEqual({ succeeded: 0, retried: 0, failed: 0, lease_lost: 0, ...counts });

it('writes each outcome as it was reported, the rows of the attempts adding up', async () => {
  const channel = scriptedChannel({ name: 'mail', maxAge: '1d', retry: { first: 10, max: 10 } });
  channel.on('retried twice', (_, { number }) => (number <= 2 ? retry(503) : succeeded()));
  channel.on('retried, then failed', (_, { number }) => (number === 1 ? retry('ECONNRESET') : failed(410)));
  channel.on('skipped', () => skipped('address_removed'));
  const app = await start(database.url, [channel.type]);
  const scripts = ['succeeds', 'retried twice', 'retried, then failed', 'skipped'];
  const ids = await enqueue(
    app,
    channel,
    scripts.map((script) => ({ script })),
  );
  await until('all have ended', async () => {
    const rows = await rowsOf(database, ids);
    return rows.every(({ status }) => status !== 'pending');
  });

  const ended = { claim_token: null, lease_expires_at: null, crashes: 0, settled_at: expect.any(Date) as Date };
  const rows = await rowsOf(database, ids);
  expect(rows).toMatchObject([
    { ...ended, status: 'succeeded', attempts: 1, last_error: null },
    { ...ended, status: 'succeeded', attempts: 3, last_error: null },
    { ...ended, status: 'failed', attempts: 2, last_error: '410' },
    { ...ended, status: 'succeeded', attempts: 1, last_error: null },
  ]);
  expect(await attemptsOf(database, ids[0]!)).toEqual([]);
  expect(await attemptsOf(database, ids[1]!)).toEqual([
    { number: 1, outcome: 'retried', error: '503' },
    { number: 2, outcome: 'retried', error: '503' },
  ]);
  expect(await attemptsOf(database, ids[2]!)).toEqual([
    { number: 1, outcome: 'retried', error: 'ECONNRESET' },
    { number: 2, outcome: 'failed', error: '410' },
  ]);
  expect(await attemptsOf(database, ids[3]!)).toEqual([{ number: 1, outcome: 'skipped', error: 'address_removed' }]);
  await until('the last is counted', () => app.tally.of('mail').succeeded === 3);
  tallied(app, { succeeded: 3, retried: 3, failed: 1 });
});

it('writes a status code or a kind, whatever the channel reports, returns or throws', async () => {
  class RelayRefused extends Error {}
  const secret = 'to ada@example.com: oops\0tail';
  const byHand =
    (outcome: unknown): Play =>
    () =>
      outcome as Outcome;
  const throwing =
    (thrown: unknown): Play =>
    () => {
      throw thrown;
    };
  const cases: [play: Play, status: string, error: string][] = [
    [() => failed(550), 'failed', '550'],
    [() => failed(secret), 'failed', 'unnamed_error'],
    [() => failed(''), 'failed', 'unnamed_error'],
    [() => failed('😀'.repeat(2_000)), 'failed', 'unnamed_error'],
    [() => failed('a'.repeat(64)), 'failed', 'a'.repeat(64)],
    [() => failed('a'.repeat(65)), 'failed', 'unnamed_error'],
    [() => failed('503\n'), 'failed', 'unnamed_error'],
    [() => retry(secret), 'pending', 'unnamed_error'],
    [byHand({ type: 'failed', kind: secret }), 'failed', 'unnamed_error'],
    [byHand({ type: 'failed' }), 'failed', 'unnamed_error'],
    [byHand({ type: 'failed', kind: { toString: () => 'x\ud800' } }), 'failed', 'unnamed_error'],
    [byHand({ type: 'retry', kind: 429, retryAfter: secret }), 'pending', '429'],
    [byHand({ type: 'retry', kind: 429, retryAfter: { no: 'sense' } }), 'pending', '429'],
    [byHand({ type: 'retry', kind: 429, retryAfter: NaN }), 'pending', '429'],
    [byHand(undefined), 'pending', 'invalid_outcome'],
    [byHand(null), 'pending', 'invalid_outcome'],
    [byHand(200), 'pending', 'invalid_outcome'],
    [byHand('succeeded'), 'pending', 'invalid_outcome'],
    [byHand({ type: secret }), 'pending', 'invalid_outcome'],
    [throwing(new RelayRefused(secret)), 'pending', 'RelayRefused'],
    [throwing(new (class extends Error {})(secret)), 'pending', 'unnamed_error'],
    [throwing(secret), 'pending', 'string'],
    [throwing(undefined), 'pending', 'undefined'],
    [throwing(null), 'pending', 'object'],
    [throwing({ message: secret }), 'pending', 'object'],
    [() => Promise.reject(new RangeError(secret)), 'pending', 'RangeError'],
  ];
  const channel = scriptedChannel({ name: 'mail', maxAge: '1d', retry: { first: '1h', max: '1h' } });
  cases.forEach(([play], index) => channel.on(`case ${index}`, play));
  const app = await start(database.url, [channel.type]);
  const log = captureLog();
  const ids = await enqueue(
    app,
    channel,
    cases.map((_, index) => ({ script: `case ${index}` })),
  );
  const rows = await until('all are settled', async () => {
    const found = await rowsOf(database, ids);
    return found.every(({ last_error }) => last_error !== null) && found;
  });
  expect(rows.map(({ status, last_error }) => [status, last_error])).toEqual(
    cases.map(([, status, error]) => [status, error]),
  );
  const attempts = await attemptsOf(database, ...ids);
  expect(attempts.map(({ error }) => error)).toEqual(cases.map(([, , error]) => error));
  // The bound of the wait is an hour: whatever Retry-After held, the next attempt is at a sensible time.
  const waits = rows.filter(({ status }) => status === 'pending').map(({ due_at }) => due_at.getTime() - Date.now());
  expect(Math.min(...waits)).toBeGreaterThan(300_000);
  expect(Math.max(...waits)).toBeLessThan(3_600_000);
  expect(log.join('\n')).not.toContain('ada@example.com');
});

describe('onFailed', () => {
  const app = (hook: Parameters<typeof scriptedChannel>[1]): Promise<[DeliveriesApp, ScriptedChannel]> =>
    startWith(scriptedChannel({ name: 'mail', maxAge: '1d' }, hook));
  async function startWith(channel: ScriptedChannel): Promise<[DeliveriesApp, ScriptedChannel]> {
    channel.on('fails', () => failed(410));
    await database.query('CREATE TABLE parents (id uuid PRIMARY KEY)');
    await database.query(`CREATE TABLE notes (delivery_id uuid, n integer UNIQUE,
      parent uuid REFERENCES parents DEFERRABLE INITIALLY DEFERRED)`);
    return [await start(database.url, [channel.type]), channel];
  }
  const untilFailed = (id: string) =>
    until('it has failed', async () => (await rowOf(database, id)).status === 'failed');
  const notes = () => database.query<{ delivery_id: string }>('SELECT delivery_id FROM notes');

  it('writes in the settling transaction', async () => {
    const [running, channel] = await app(async ({ id }, tx) => {
      await tx.query('INSERT INTO notes (delivery_id) VALUES ($1)', [id]);
    });
    const id = await enqueueOne(running, channel, { script: 'fails' });
    await untilFailed(id);
    const [together] = await database.query<{ same: boolean }>(
      'SELECT d.xmin = n.xmin AS same FROM deliveries.deliveries d JOIN notes n ON n.delivery_id = d.id',
    );
    expect(together).toEqual({ same: true });
    await until('it is counted', () => running.tally.of('mail').failed === 1);
    tallied(running, { failed: 1 });
  });

  it('is tried again when it throws, and what the throwing one wrote is taken back', async () => {
    let calls = 0;
    const [running, channel] = await app(async ({ id }, tx) => {
      await tx.query('INSERT INTO notes (delivery_id) VALUES ($1)', [id]);
      calls += 1;
      if (calls === 1) throw new TypeError('boom');
    });
    const id = await enqueueOne(running, channel, { script: 'fails' });
    await untilFailed(id);
    expect(calls).toBe(2);
    expect(await notes()).toEqual([{ delivery_id: id }]);
    expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'failed', error: '410' }]);
  });

  // Each of them leaves the transaction unable to commit, and only the first says so by itself.
  it.each<[string, Parameters<typeof scriptedChannel>[1]]>([
    ['throws each time', () => Promise.reject(Object.assign(new Error('boom'), { code: 'no ada@example.com' }))],
    [
      'swallows the error of a statement, which the commit would turn into a rollback without a word',
      async (_, tx) => {
        await tx.query('SELECT 1 / 0').catch(() => undefined);
      },
    ],
    [
      'violates a constraint that is checked at the commit',
      async ({ id }, tx) => {
        await tx.query('INSERT INTO notes (delivery_id, parent) VALUES ($1, gen_random_uuid())', [id]);
      },
    ],
  ])('does not keep a delivery from ending when it %s', async (_, hook) => {
    let calls = 0;
    const [running, channel] = await app(async (delivery, tx) => {
      calls += 1;
      await hook!(delivery, tx);
    });
    const log = captureLog();
    const id = await enqueueOne(running, channel, { script: 'fails' });
    await untilFailed(id);
    expect(calls).toBe(3);
    expect(await notes()).toEqual([]);
    expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'failed', error: '410' }]);
    await until('it is counted', () => running.tally.of('mail').failed === 1);
    tallied(running, { failed: 1 });
    expect(log.filter((text) => text.includes('onFailed'))).toHaveLength(3);
    expect(log.join('\n')).not.toContain('ada@example.com');
  });

  it('is not called when an operator has cancelled the delivery meanwhile', async () => {
    let calls = 0;
    const { channel, open, play } = gatedChannel({}, () => void (calls += 1));
    play(() => failed(410));
    const [running] = await startWith(channel);
    const id = await enqueueOne(running, channel, { script: 'gated' });
    await until('it is in flight', () => channel.inFlight().length === 1);
    await cancel(id);
    open();
    await until('its outcome is dropped', () => running.tally.of('mail').lease_lost === 1);
    expect(calls).toBe(0);
    expect(await rowOf(database, id)).toMatchObject({ status: 'cancelled', last_error: null });
  });
});

/** What an operator's cancel of a delivery in flight does. */
const cancel = (id: string) =>
  database.query(
    `UPDATE deliveries.deliveries SET status = 'cancelled', claim_token = NULL, settled_at = clock_timestamp() WHERE id = $1`,
    [id],
  );

it('drops an outcome that comes after a cancel, and says so', async () => {
  const { channel, open } = gatedChannel();
  const app = await start(database.url, [channel.type]);
  const log = captureLog();
  const id = await enqueueOne(app, channel, { script: 'gated' });
  await until('it is in flight', () => channel.inFlight().length === 1);
  await cancel(id);
  open();
  await until('its outcome is dropped', () => app.tally.of('mail').lease_lost === 1);
  expect(await rowOf(database, id)).toMatchObject({ status: 'cancelled', attempts: 1 });
  expect(await attemptsOf(database, id)).toEqual([]);
  expect(log.filter((text) => text.includes(id) && text.includes('lost lease'))).toHaveLength(1);
  tallied(app, { lease_lost: 1 });
});

it('drops a late outcome and keeps the claim and the outcome of whoever took the delivery over', async () => {
  // One slot: the late one's own worker cannot take the delivery over.
  const { channel: slow, open } = gatedChannel({ concurrency: 1 });
  const late = await start(database.url, [slow.type]);
  const id = await enqueueOne(late, slow, { script: 'gated' });
  await until('it is in flight', () => slow.inFlight().length === 1);
  const { channel: quick, open: finish } = gatedChannel();
  const taker = await start(database.url, [quick.type]);
  await expireLease(database, id);
  await until('somebody else has it', () => quick.inFlight().length === 1);
  const claimed = await rowOf(database, id);

  open();
  await until('the late outcome is dropped', () => late.tally.of('mail').lease_lost === 1);
  expect(await rowOf(database, id)).toEqual(claimed);
  expect(claimed).toMatchObject({ status: 'pending', attempts: 2, crashes: 1 });
  finish();
  await until('it is settled', async () => (await rowOf(database, id)).status === 'succeeded');
  await until('it is counted', () => taker.tally.of('mail').succeeded === 1);
  tallied(late, { lease_lost: 1 });
  tallied(taker, { succeeded: 1 });
  expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'crashed', error: 'crashed' }]);
});

it('lets a row that somebody holds locked stall nothing but itself, and does not take it for a lost token', async () => {
  const { channel, open } = gatedChannel();
  const app = await start(database.url, [channel.type]);
  const ids = await enqueue(app, channel, [{ script: 'gated' }, { script: 'gated' }, { script: 'gated' }]);
  await until('all are in flight', () => channel.inFlight().length === 3);
  const holder = await lockRow(ids[1]!);
  open();
  await until('the others are settled', async () => {
    const rows = await Promise.all([ids[0]!, ids[2]!].map((id) => rowOf(database, id)));
    return rows.every(({ status }) => status === 'succeeded');
  });
  expect(await rowOf(database, ids[1]!)).toMatchObject({
    status: 'pending',
    claim_token: expect.any(String) as string,
  });
  await until('the others are counted', () => app.tally.of('mail').succeeded === 2);
  tallied(app, { succeeded: 2 });
  await holder.query('COMMIT');
  await until('it is settled', async () => (await rowOf(database, ids[1]!)).status === 'succeeded');
  await until('it is counted', () => app.tally.of('mail').succeeded === 3);
  tallied(app, { succeeded: 3 });
  expect(channel.calls).toHaveLength(3);
});

it('gives an outcome up when the lease is nearly over, counts nothing, and sends the delivery again', async () => {
  const channel = scriptedChannel({ name: 'mail', maxAge: '1d', workers: 1, sendTimeout: 100, lease: 5_100 });
  const { passed, open } = gate();
  channel.on('gated', () => passed.then(succeeded));
  const app = await start(database.url, [channel.type]);
  const log = captureLog();
  const id = await enqueueOne(app, channel, { script: 'gated' });
  await until('it is in flight', () => channel.inFlight().length === 1);
  const holder = await lockRow(id);
  open();
  await until('it is given up', () => log.some((text) => text.includes(id) && text.includes('could not be recorded')));
  tallied(app, {});
  await holder.query('COMMIT');
  expect(await rowOf(database, id)).toMatchObject({ status: 'pending', attempts: 1 });
  await expireLease(database, id);
  await until('it is sent again and settled', async () => (await rowOf(database, id)).status === 'succeeded');
  expect(channel.calls.map((call) => [call.id, call.attempt])).toEqual([
    [id, 1],
    [id, 2],
  ]);
  await until('it is counted', () => app.tally.of('mail').succeeded === 1);
  tallied(app, { succeeded: 1 });
});

describe('a settle whose commit succeeded and whose reply was lost', () => {
  /** Lets the outcome of one delivery be written, and cuts the line before the answer comes. */
  async function loseReply(play: Play, meanwhile: (id: string) => Promise<void> = async () => {}) {
    line = await lineTo(database.url);
    // Not due again by itself: a worker whose listener is back looks for what it may have missed, and would count a second attempt.
    const { channel, open, play: then } = gatedChannel({ retry: { first: '1h', max: '1h' } });
    then(play);
    const app = await start(database.url, [channel.type], { connection: line.connection, pollInterval: '1h' });
    const log = captureLog();
    const id = await enqueueOne(app, channel, { script: 'gated' });
    app.workers.wake();
    await until('it is in flight', () => channel.inFlight().length === 1);
    const frozen = line.freezeReplyTo('deliveries_settle');
    open();
    await frozen;
    await until('the outcome is committed', async () => (await rowOf(database, id)).claim_token === null);
    await meanwhile(id);
    line.cut();
    line.thaw();
    await until('the outcome is counted', () => Object.values(app.tally.of('mail')).some((count) => count > 0));
    return { app, id, log };
  }

  it.each<[string, Play, Partial<Record<CountedOutcome, number>>]>([
    ['a success', succeeded, { succeeded: 1 }],
    ['a skip', () => skipped('address_removed'), { succeeded: 1 }],
    ['a failure', () => failed(410), { failed: 1 }],
    ['a retry', () => retry(503), { retried: 1 }],
  ])('is recognized as written: %s', async (_, play, counts) => {
    const { app, log } = await loseReply(play);
    tallied(app, counts);
    expect(log.join('\n')).not.toContain('lost lease');
  });

  it('is recognized as written also when the next attempt has ended in between', async () => {
    const { app, id } = await loseReply(
      () => retry(503),
      async (waiting) => {
        const next = scriptedChannel({ name: 'mail', maxAge: '1d' });
        await database.query('UPDATE deliveries.deliveries SET due_at = clock_timestamp() WHERE id = $1', [waiting]);
        await start(database.url, [next.type]);
        await until('the next attempt has ended', async () => (await rowOf(database, waiting)).status === 'succeeded');
        expect(next.calls).toMatchObject([{ id: waiting, attempt: 2 }]);
      },
    );
    tallied(app, { retried: 1 });
    expect(await attemptsOf(database, id)).toEqual([{ number: 1, outcome: 'retried', error: '503' }]);
  });

  it('is recognized as written together with what onFailed wrote', async () => {
    line = await lineTo(database.url);
    await database.query('CREATE TABLE notes (delivery_id uuid)');
    let calls = 0;
    const { channel, open, play } = gatedChannel({}, async ({ id }, tx) => {
      calls += 1;
      await tx.query('INSERT INTO notes VALUES ($1)', [id]);
    });
    play(() => failed(410));
    // The hook's transaction is the host's: here it is the host whose line is cut.
    const app = await start(line.url, [channel.type], { connection: { connectionString: database.url } });
    const id = await enqueueOne(app, channel, { script: 'gated' });
    await until('it is in flight', () => channel.inFlight().length === 1);
    const frozen = line.freezeReplyTo('COMMIT\0');
    open();
    await frozen;
    await until('the failure is committed', async () => (await rowOf(database, id)).status === 'failed');
    line.cut();
    line.thaw();
    await until('it is counted', () => app.tally.of('mail').failed === 1);
    tallied(app, { failed: 1 });
    expect(calls).toBe(1);
    expect(await database.query('SELECT FROM notes')).toHaveLength(1);
  });
});

it('drops a cancelled outcome as lost also after a write whose reply never came', async () => {
  line = await lineTo(database.url);
  const { channel, open } = gatedChannel();
  const app = await start(database.url, [channel.type], { connection: line.connection, pollInterval: '1h' });
  const id = await enqueueOne(app, channel, { script: 'gated' });
  app.workers.wake();
  await until('it is in flight', () => channel.inFlight().length === 1);
  // The statement itself is held: it never reaches the server.
  const frozen = line.freezeAfter((chunk, direction) => direction === 'client' && chunk.includes('deliveries_settle'));
  open();
  await frozen;
  await cancel(id);
  line.cut();
  line.thaw();
  await until('the outcome is dropped', () => app.tally.of('mail').lease_lost === 1);
  tallied(app, { lease_lost: 1 });
  expect(await rowOf(database, id)).toMatchObject({ status: 'cancelled' });
});

it('never sends what a frozen reply to a claim brings after the lease: it gives it back', async () => {
  line = await lineTo(database.url);
  const channel = scriptedChannel({ name: 'mail', maxAge: '1d', workers: 1, sendTimeout: 100, lease: 5_100 });
  const app = await start(database.url, [channel.type], { connection: line.connection, pollInterval: '1h' });
  await untilIdle(app, channel);
  const [taken, left] = await enqueue(app, channel, [{ n: 1 }, { n: 2 }]);
  const frozen = line.freezeReplyTo('deliveries_claim');
  const asked = performance.now();
  app.workers.wake();
  await frozen;
  await until('the claim is committed', async () => (await rowOf(database, taken!)).claim_token !== null);

  // Meanwhile the lease of one ends, and another replica has it in flight when the reply arrives.
  const taker = gatedChannel({ concurrency: 1 });
  taker.channel.on('', async () => {
    await release.passed;
    return succeeded();
  });
  const release = gate();
  await start(database.url, [taker.channel.type]);
  const log = captureLog();
  await expireLease(database, taken!);
  await until('the other replica sends it', () => taker.channel.inFlight().length === 1);
  const theirs = await rowOf(database, taken!);
  await until('the lease is over', () => performance.now() - asked > 5_150);
  line.thaw();
  await until('the other one is given back', async () => (await rowOf(database, left!)).claim_token === null);
  expect(await rowOf(database, taken!)).toEqual(theirs);
  expect(log.filter((text) => text.includes('after the lease had ended; not sent'))).toHaveLength(2);
  expect(channel.calls.filter(({ id }) => id === taken)).toEqual([]);
  release.open();
  await until('both have arrived', async () => {
    const rows = await rowsOf(database, [taken!, left!]);
    return rows.every(({ status }) => status === 'succeeded');
  });
  // Not an attempt, and not a crash.
  expect(await rowOf(database, left!)).toMatchObject({ attempts: 1, crashes: 0 });
});

it('settles no plain success whose row gets another token between the snapshot and the lock', async () => {
  const { channel } = gatedChannel();
  const app = await start(database.url, [channel.type], { run: [] });
  const [taken, kept] = await enqueue(app, channel, [{}, {}]);
  await database.query(
    `UPDATE deliveries.deliveries SET claim_token = gen_random_uuid(), attempts = 1, lease_expires_at = clock_timestamp() + interval '1 hour'`,
  );
  const tokens = [(await rowOf(database, taken!)).claim_token, (await rowOf(database, kept!)).claim_token];
  // The statement itself, but for a wait in the place where its snapshot is taken and its rows are not looked up yet.
  const plain = settleSuccessesSql('"deliveries"');
  const waiting = plain.replace('SELECT * FROM unnest(', 'SELECT o.* FROM pg_advisory_xact_lock(43), unnest(');
  expect(waiting).not.toBe(plain);
  other = new Client({ connectionString: database.url });
  await other.connect();
  await database.query('SELECT pg_advisory_lock(43)');
  const settling = other.query<{ id: string }>(waiting, [[taken, kept], tokens]);
  await until('it waits', async () => {
    const [row] = await database.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM pg_locks
        WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    return row!.count === 1;
  });
  await database.query('UPDATE deliveries.deliveries SET claim_token = gen_random_uuid() WHERE id = $1', [taken]);
  await database.query('SELECT pg_advisory_unlock(43)');
  expect((await settling).rows).toEqual([{ id: kept }]);
  expect(await rowOf(database, taken!)).toMatchObject({ status: 'pending' });
});
