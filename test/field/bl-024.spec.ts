import { failed, retry, succeeded } from 'nest-deliveries';
import { OutboundHttp, outcomeOf } from 'nest-deliveries/outbound-http';
import { enqueue } from '../faults/support/enqueue';
import { until } from '../faults/support/facts';
import { attemptsOf, rowsOf } from '../faults/support/rows';
import { scriptedChannel, type ScriptedChannel } from '../faults/support/scripted-channel';
import { type Receiver, startReceiver } from '../outbound-http/receiver';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

// BL-024: a Retry-After that is no plain number becomes NaN, and who asked for quiet is called again at once.

/** Without a Retry-After that counts, the first wait is between a tenth of this and all of it; in ms. Polls come each 50 ms. */
const first = 2_000;
const floor = first / 10;
/** In ms: how far off the instant of a date may be on a machine with other things to do. */
const slack = 500;

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;
const two = (number: number): string => String(number).padStart(2, '0');
const clock = (at: Date): string => `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;

/** The three forms of RFC 9110, section 5.6.7. */
const dateForms: Record<string, (at: Date) => string> = {
  'an IMF-fixdate': (at) => at.toUTCString(),
  'an RFC 850 date': (at) =>
    `${weekdays[at.getUTCDay()]!}, ${two(at.getUTCDate())}-${months[at.getUTCMonth()]!}-${two(at.getUTCFullYear() % 100)} ${clock(at)} GMT`,
  'an asctime date': (at) =>
    `${days[at.getUTCDay()]!} ${months[at.getUTCMonth()]!} ${String(at.getUTCDate()).padStart(2)} ${clock(at)} ${at.getUTCFullYear()}`,
};

/** Header lines that ask for nothing that can be done, or for less than the backoff. */
const noRequest: Record<string, readonly string[]> = {
  'a date that is past': ['Sun, 06 Nov 1994 08:49:37 GMT'],
  'no date at all': ['Wed, 99 Foo 2026'],
  'an empty value': [''],
  'a word': ['soon'],
  'two lines': ['6', '7'],
  'a negative number': ['-6'],
  zero: ['0'],
};

let database: TestDatabase;
let receiver: Receiver;
let http: OutboundHttp;
let app: DeliveriesApp;
let channel: ScriptedChannel;
const RealDate = Date;
/**
 * The real time, in ms since 1970, whatever a test makes of `Date`: the clock that PostgreSQL reads on this machine, too. One that
 * counts on from the start of the process (`performance.timeOrigin`) would stay behind when the machine's clock is set forward.
 */
const now = (): number => RealDate.now();

/** What the receiver asks for at the first attempt of a delivery, by its number. */
let asked: (() => readonly string[])[];
/** When the receiver was called, by the number of the delivery: its own clock, ms since 1970. */
let called: number[][];

beforeEach(async () => {
  called = [];
  database = await createTestDatabase();
  receiver = await startReceiver(({ socket, received }) => {
    const n = Number(/^POST \/(\d+) /.exec(received)![1]);
    (called[n] ??= []).push(now());
    const again = called[n].length > 1;
    const lines = again ? [] : asked[n]!().map((value) => `retry-after: ${value}\r\n`);
    const status = again ? '204 No Content' : '429 Too Many Requests';
    socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}content-length: 0\r\nconnection: close\r\n\r\n`);
  });
  http = new OutboundHttp({ testMode: true });
});

/** Starts the application with a channel that waits so long between attempts. */
async function start(bounds: { first: number; max: number }): Promise<void> {
  channel = scriptedChannel({ name: 'http', maxAge: '1d', retry: bounds, concurrency: 20 });
  channel.on('post', async ({ payload }, { signal }) => {
    const outcome = outcomeOf(await http.post(`${receiver.origin}/${payload.n}`, { body: '{}', signal }));
    if (outcome.type === 'succeeded') return succeeded();
    return outcome.type === 'failed' ? failed(outcome.kind) : retry(outcome.kind, outcome);
  });
  app = await startDeliveriesApp(database.url, [channel.type], { sendTimeout: '10s', lease: '60s' });
}

afterEach(async () => {
  jest.useRealTimers();
  await app.close();
  http.close();
  receiver.close();
  await database.drop();
});

/** Records one delivery for each that `asked` has something for, and waits until all have been settled once. */
async function refused(): Promise<string[]> {
  const ids = await enqueue(
    app,
    channel,
    asked.map((_, n) => ({ script: 'post', n })),
  );
  app.workers.wake();
  await until('all were refused once', async () => (await attemptsOf(database, ...ids)).length === ids.length);
  return ids;
}

const untilAllArrived = (ids: readonly string[]): Promise<unknown> =>
  until('all have arrived', async () => (await rowsOf(database, ids)).every(({ status }) => status === 'succeeded'));

it('BL-024: keeps quiet until the date that was asked for, in each of three forms, though its own clock is an hour ahead', async () => {
  await start({ first: 100, max: 5_000 });
  const dates: number[] = [];
  asked = Object.values(dateForms).map((form, n) => () => {
    // Whole seconds, as such dates are.
    dates[n] = Math.ceil(now() / 1_000) * 1_000 + 2_000;
    return [form(new Date(dates[n]))];
  });
  jest.useFakeTimers({ now: Date.now() + 3_600_000, advanceTimers: true, doNotFake: [...everythingButDate] });
  const ids = await refused();
  const shown = await Promise.all(ids.map((id) => app.operations.show(id)));
  for (const [n, { status, dueAt }] of shown.entries()) {
    expect(status).toBe('pending');
    // The process tells the database's clock from its last claim, to within the time that the claim took; and the wait is added
    // to the clock at the write, a moment later.
    expect(dueAt.getTime() - dates[n]!).toBeGreaterThan(-slack);
    expect(dueAt.getTime() - dates[n]!).toBeLessThan(10_000);
  }
  await untilAllArrived(ids);
  for (const [n, [, again]] of called.entries()) expect(again! - dates[n]!).toBeGreaterThan(-slack);
  expect(called.map((times) => times.length)).toEqual([2, 2, 2]);
});

it('BL-024: falls back to its own backoff, and never to none, when it is asked for nothing that can be done', async () => {
  await start({ first, max: 5_000 });
  asked = Object.values(noRequest).map((lines) => () => lines);
  const ids = await refused();
  await untilAllArrived(ids);
  for (const [n, name] of Object.keys(noRequest).entries()) {
    const [before, after] = called[n]!;
    // Not earlier than the floor; the receiver was called a moment before its answer was settled.
    expect({ name, kept: after! - before! >= floor - 1, twice: called[n]!.length }).toEqual({
      name,
      kept: true,
      twice: 2,
    });
  }
});

it('BL-024: has a next attempt between the bounds of the backoff then, which operators see', async () => {
  const hour = 3_600_000;
  await start({ first: hour, max: hour });
  asked = Object.values(noRequest).map((lines) => () => lines);
  const ids = await refused();
  for (const [n, name] of Object.keys(noRequest).entries()) {
    const { status, dueAt, attemptRows } = await app.operations.show(ids[n]!);
    const wait = dueAt.getTime() - attemptRows[0]!.endedAt.getTime();
    expect({ name, status, inBounds: wait >= hour / 10 - 50 && wait <= hour + 50 }).toEqual({
      name,
      status: 'pending',
      inBounds: true,
    });
  }
});

/** What Jest could fake besides the clock. */
const everythingButDate = [
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setInterval',
  'clearInterval',
  'setTimeout',
  'clearTimeout',
] as const;
