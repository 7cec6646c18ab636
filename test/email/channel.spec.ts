import { Logger } from '@nestjs/common';
import { ChannelPauses, InvalidRequestError, WakeUps } from 'nest-deliveries';
import { EmailHealthIndicator, EmailModule, EmailSender, InvalidEmailError } from 'nest-deliveries/email';
import { captureLog } from '../faults/support/captured-log';
import { until } from '../faults/support/facts';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { from, receipt, templates } from './support/kinds';
import { startRawRelay, type RawRelay } from './support/raw-relay';
import { News, ordered, Receipts, startEmailApp } from './support/receipts';
import { startRelay, type RelayRules, type TestRelay } from './support/relay';

let database: TestDatabase;
const closing: (() => unknown)[] = [];

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  jest.restoreAllMocks();
  // Applications before the relays that they talk to.
  for (const close of closing.splice(0).toReversed()) await close();
  await database.drop();
});

async function relayWith(...given: Parameters<typeof startRelay>): Promise<TestRelay> {
  const relay = await startRelay(...given);
  closing.push(() => relay.close());
  return relay;
}

async function rawRelay(...given: Parameters<typeof startRawRelay>): Promise<RawRelay> {
  const relay = await startRawRelay(...given);
  closing.push(() => relay.close());
  return relay;
}

async function start(relay: number | undefined, options?: Parameters<typeof startEmailApp>[2]): Promise<DeliveriesApp> {
  const app = await startEmailApp(database.url, relay, options);
  closing.push(() => app.close());
  return app;
}

const record = (app: DeliveriesApp, ...to: string[]): Promise<unknown> =>
  app.recorder.transaction((tx) => app.recorder.record(tx, ordered(...to)));

interface Row {
  readonly id: string;
  readonly channel: string;
  readonly to: string;
  readonly status: string;
  readonly attempts: number;
  readonly error: string | null;
  readonly claimed: boolean;
}

/** Every delivery, by the address that it goes to. */
const rows = (): Promise<Row[]> =>
  database.query<Row & Record<string, unknown>>(
    `SELECT id, channel, payload->>'to' AS to, status, attempts, last_error AS error, claim_token IS NOT NULL AS claimed
       FROM deliveries.deliveries ORDER BY 3, id`,
  );

const rowTo = async (to: string): Promise<Row> => (await rows()).find((row) => row.to === to)!;

const untilAttempted = (to: string, attempts: number): Promise<Row> =>
  until(`${to} was attempted ${attempts} times`, async () => {
    const row = await rowTo(to);
    return row.attempts >= attempts && !row.claimed && row;
  });

/** Makes what waits for its retry due at once. */
const becomeDue = (): Promise<unknown> =>
  database.query(
    `UPDATE deliveries.deliveries SET due_at = clock_timestamp() WHERE status = 'pending' AND claim_token IS NULL`,
  );

const noRetries = { retry: { first: '1h', max: '1h' } } as const;

describe('BL-070: one recipient, one delivery, one outcome', () => {
  const [ada, bob, cleo] = ['ada@example.com', 'bob@example.com', 'cleo@example.com'];

  it('BL-070: who was served gets one copy, and who was not is retried or fails alone', async () => {
    let toBob: number | undefined = 450;
    const rules: RelayRules = { onRecipient: (to) => (to === bob ? toBob : undefined) };
    const relay = await relayWith(rules);
    const app = await start(relay.port, noRetries);
    await record(app, ada, bob, cleo);
    expect(await untilAttempted(bob, 1)).toMatchObject({ status: 'pending', error: '450' });
    await until(
      'the others are served',
      async () => (await rows()).filter((row) => row.status === 'succeeded').length === 2,
    );
    // Taken as a recipient, and refused as a message.
    toBob = undefined;
    rules.onMessage = () => 452;
    await becomeDue();
    app.workers.wake();
    expect(await untilAttempted(bob, 2)).toMatchObject({ status: 'pending', error: '452' });
    toBob = 550;
    await becomeDue();
    app.workers.wake();
    expect(await untilAttempted(bob, 3)).toMatchObject({ status: 'failed', attempts: 3, error: '550' });
    expect((await rows()).map(({ to, attempts }) => [to, attempts])).toEqual([
      [ada, 1],
      [bob, 3],
      [cleo, 1],
    ]);
    expect([ada, bob, cleo].map((to) => relay.received(to).length)).toEqual([1, 0, 1]);
  });

  it('BL-070: several recipients are refused when they are recorded, and nothing is', async () => {
    const app = await start(undefined);
    for (const many of [`${ada},${bob}`, `${ada}; ${bob}`, `${ada} ${bob}`, `Ada <${ada}>`, `"a,b"@example.com`]) {
      await expect(record(app, cleo, many)).rejects.toThrow(InvalidEmailError);
    }
    expect(await rows()).toEqual([]);
  });
});

it('sends the same message on every attempt, under a Message-ID that is the delivery’s', async () => {
  const rules: RelayRules = { onMessage: () => undefined };
  const relay = await relayWith(rules);
  const app = await start(relay.port, noRetries);
  await record(app, 'ada@example.com');
  const { id } = await untilAttempted('ada@example.com', 1);
  // The relay took it, and the worker never heard so.
  await database.query(
    `UPDATE deliveries.deliveries SET status = 'pending', settled_at = NULL, due_at = clock_timestamp(), last_error = '451'`,
  );
  app.workers.wake();
  await until('it arrived again', () => relay.received('ada@example.com').length === 2);
  const [first, second] = relay.received('ada@example.com');
  expect(second).toBe(first);
  expect(first).toContain(`\r\nMessage-ID: <${id}@shop.example>\r\n`);
});

describe('what is kept of a relay', () => {
  it('is its code: its words are in no table and in no line of the log', async () => {
    const relay = await rawRelay({ RCPT: 550 });
    const app = await start(relay.port, { ...noRetries, logAttempts: 'all' });
    const lines = captureLog();
    await record(app, 'ada@example.com');
    expect(await untilAttempted('ada@example.com', 1)).toMatchObject({ status: 'failed', error: '550' });
    relay.behaviours.set('RCPT', 451);
    await record(app, 'bob@example.com');
    await untilAttempted('bob@example.com', 1);
    relay.behaviours.set('MAIL', 530);
    await record(app, 'cleo@example.com');
    await untilAttempted('cleo@example.com', 1);
    await until('the pause is said', () => lines.some((line) => line.includes('rejects the login')));
    const tables = await database.query<{ name: string }>(
      `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'deliveries'`,
    );
    expect(tables.length).toBeGreaterThan(5);
    const dumps: unknown[] = [];
    for (const { name } of tables) dumps.push(await database.query(`SELECT t::text FROM ${name} t`));
    for (const kept of [JSON.stringify(dumps), lines.join('\n')]) {
      expect(kept).not.toMatch(/CANARY|5\.7\.99|s3cret/);
    }
    expect(lines.join('\n')).not.toContain('@example.com');
  });
});

describe('without a relay', () => {
  it('every delivery is skipped, which the log and health say', async () => {
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const app = await start(undefined);
    await record(app, 'ada@example.com', 'bob@example.com');
    const ended = await until('both have ended', async () => {
      const all = await rows();
      return all.every(({ status }) => status === 'succeeded') && all;
    });
    expect(ended).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
    expect(await database.query('SELECT outcome, error FROM deliveries.delivery_attempts')).toEqual([
      { outcome: 'skipped', error: 'no_relay' },
      { outcome: 'skipped', error: 'no_relay' },
    ]);
    const said = warned.mock.calls.map(([text]) => String(text)).filter((text) => text.includes('relay'));
    expect(said).toEqual([
      'There is no relay: every delivery of email, announcement is skipped. Set the option url to send them.',
    ]);
    expect(await app.module.get(EmailHealthIndicator).check()).toEqual({
      email: { status: 'degraded', relay: 'none: every delivery is skipped' },
    });
  });
});

it('a message that is not to be sent any more, or cannot be made, ends without the relay', async () => {
  const relay = await relayWith();
  const app = await start(relay.port);
  const lines = captureLog();
  const channel = app.module.get(Receipts);
  await app.recorder.transaction(async (tx) => {
    await app.recorder.enqueue(tx, Receipts, channel.draft('gone@example.com', 'gone'));
    await app.recorder.enqueue(tx, Receipts, channel.draft('bad@example.com', 'Eve\r\nBcc: all@example.com'));
  });
  expect(await untilAttempted('bad@example.com', 1)).toMatchObject({ status: 'failed', error: 'invalid_email' });
  await until('the other ended', async () => (await rowTo('gone@example.com')).status === 'succeeded');
  expect(relay.mailboxes.size).toBe(0);
  const { id } = await rowTo('bad@example.com');
  expect(lines).toContain(
    `Delivery ${id} of channel email: This email cannot be made: content.customer must be one line, without control characters.`,
  );
  expect(lines.join('\n')).not.toContain('Bcc');
});

describe('a login that is rejected', () => {
  interface Pause {
    readonly channel: string;
    readonly reason: string;
    readonly since: Date;
    readonly until: Date | null;
  }
  const pauses = (): Promise<Pause[]> =>
    database.query<Pause & Record<string, unknown>>(
      'SELECT channel, reason, since, until FROM deliveries.delivery_pauses ORDER BY channel, reason',
    );

  it('pauses both channels in all replicas, spends no attempts, and ends when a login works', async () => {
    let code: number | undefined = 535;
    const relay = await relayWith({ onLogin: () => code });
    const [app, other] = await Promise.all([start(relay.port, noRetries), start(relay.port, noRetries)]);
    const lines = captureLog();
    await record(app, 'first@example.com');
    expect(await untilAttempted('first@example.com', 1)).toMatchObject({ status: 'pending', error: '535' });
    expect(await pauses()).toMatchObject([
      { channel: 'announcement', reason: 'login_rejected' },
      { channel: 'email', reason: 'login_rejected' },
    ]);
    await app.operations.pause({ channel: 'announcement' }, { actor: 'ops@example.com' });
    await record(other, 'second@example.com');
    await app.recorder.transaction((tx) =>
      app.recorder.enqueue(tx, News, app.module.get(News).draft('third@example.com')),
    );
    const [before] = await pauses();
    const probes = relay.logins + 4;
    await until('more logins were tried', () => relay.logins >= probes);
    expect((await rows()).map(({ to, attempts }) => [to, attempts])).toEqual([
      ['first@example.com', 1],
      ['second@example.com', 0],
      ['third@example.com', 0],
    ]);
    const [prolonged] = await pauses();
    expect(prolonged!.since).toEqual(before!.since);
    expect(prolonged!.until!.getTime()).toBeGreaterThan(before!.until!.getTime());

    code = undefined;
    await until('the second arrived', () => relay.received('second@example.com').length === 1);
    await until('the pause is taken back', async () => (await pauses()).length === 1);
    // What an operator paused stays paused.
    expect(await pauses()).toMatchObject([{ channel: 'announcement', reason: 'operator', until: null }]);
    expect(relay.received('third@example.com')).toEqual([]);
    await app.operations.resume({ channel: 'announcement' }, { actor: 'ops@example.com' });
    await until('the third arrived', () => relay.received('third@example.com').length === 1);
    await until('that is said', () => lines.some((line) => line.includes('accepts the login again')));
    expect(lines.filter((line) => line.includes('rejects the login'))).toHaveLength(1);
  });

  it('ends by itself when the process that paused is gone', async () => {
    let code: number | undefined = 535;
    const relay = await relayWith({ onLogin: () => code });
    const app = await start(relay.port, { ...noRetries, email: { probeInterval: '1h' } });
    captureLog();
    await record(app, 'ada@example.com');
    await untilAttempted('ada@example.com', 1);
    const [pause] = await pauses();
    expect(pause!.until!.getTime() - pause!.since.getTime()).toBe(2 * (3_600_000 + 10_000));
    code = undefined;
    await database.query('UPDATE deliveries.delivery_pauses SET until = clock_timestamp()');
    await becomeDue();
    app.workers.wake();
    await until('it arrived', () => relay.received('ada@example.com').length === 1);
  });

  it('a channel pauses for a word of its own, and not for one that others use', async () => {
    const app = await start(undefined, { run: [] });
    const own = app.module.get(ChannelPauses);
    for (const reason of ['operator', 'retry_after', 'Key revoked', '']) {
      await expect(own.pause('email', reason, '1m')).rejects.toThrow(InvalidRequestError);
      await expect(own.resume('email', reason)).rejects.toThrow(InvalidRequestError);
    }
    for (const never of [0, -1, Number.NaN, 'soon' as '1m']) {
      await expect(own.pause('email', 'key_revoked', never)).rejects.toThrow('must be a duration above 0');
    }
    await own.pause('email', 'key_revoked', '1m');
    expect(await pauses()).toMatchObject([{ channel: 'email', reason: 'key_revoked' }]);
    // Whoever resumes wakes the workers: nothing waits for a poll.
    const woken = jest.spyOn(app.module.get(WakeUps), 'changed');
    expect(await own.resume('announcement', 'key_revoked')).toBe(false);
    expect(woken.mock.calls).toEqual([]);
    expect(await own.resume('email', 'key_revoked')).toBe(true);
    expect(woken.mock.calls).toEqual([['email']]);
    expect(await pauses()).toEqual([]);
  });
});

it('a message that is under way when a shut-down begins arrives, and is known to have', async () => {
  const relay = await rawRelay({ dot: 'silence' });
  const app = await startEmailApp(database.url, relay.port);
  await record(app, 'ada@example.com');
  await until('the relay has it', () => relay.messages.length === 1);
  const closed = app.close();
  await until('the workers have stopped claiming', () => app.workers.pulses().length === 0);
  relay.answer('250 taken');
  await closed;
  expect(await rowTo('ada@example.com')).toMatchObject({ status: 'succeeded', attempts: 1 });
  expect(relay.messages).toHaveLength(1);
});

describe('health', () => {
  it('is up, or degraded, never down; and asks the relay once for many who ask', async () => {
    let code: number | undefined;
    const relay = await relayWith({ onLogin: () => code });
    const health = async (): Promise<EmailHealthIndicator> =>
      (await start(relay.port, { run: [] })).module.get(EmailHealthIndicator);
    const indicator = await health();
    const answers = await Promise.all([indicator.check(), indicator.check('smtp'), indicator.check()]);
    answers.push(await indicator.check());
    expect(answers).toEqual([
      { email: { status: 'up', relay: 'up' } },
      { smtp: { status: 'up', relay: 'up' } },
      { email: { status: 'up', relay: 'up' } },
      { email: { status: 'up', relay: 'up' } },
    ]);
    expect(relay.logins).toBe(1);
    code = 535;
    expect(await (await health()).check()).toEqual({
      email: { status: 'degraded', relay: 'rejects the login (535)' },
    });
    await relay.close();
    expect(await (await health()).check('email', { degradedAs: 'up' })).toEqual({
      email: { status: 'up', relay: 'cannot be used (ECONNREFUSED)' },
    });
  });
});

it('the options come from a factory as well, where an empty url is none', async () => {
  const app = await startDeliveriesApp(database.url, [Receipts], {
    run: [],
    imports: [
      EmailModule.forRootAsync({ useFactory: () => Promise.resolve({ from, kinds: [receipt], templates, url: '' }) }),
    ],
  });
  closing.push(() => app.close());
  expect(app.module.get(EmailSender).hasRelay).toBe(false);
});
