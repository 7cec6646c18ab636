import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { until } from '../deliveries/letters';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { runTs, spawnTs } from '../support/ts-child';
import type { ClockSetting, Order, Question, Told } from './bl-111.child';

// BL-111: times are shifted by a local offset. One application in Mexico City, one in Kolkata, the database in Auckland.

/** In ms: nothing here ends by it. */
const lease = 30_000;

let database: TestDatabase;
let west: Application;
let east: Application;

interface Application {
  readonly child: ChildProcess;
  readonly offset: number;
  readonly sends: NonNullable<Told['sending']>[];
  /** Records for the other application. @returns the delivery's id */
  record(order: Order): Promise<string>;
  /** What an operator sees of a delivery, as JSON. */
  show(id: string): Promise<string>;
  /** Sets its clock, where that was asked for. @returns the hour of its day then */
  setClock(ms: number): Promise<number>;
}

async function start(runs: 'west' | 'east', zone: string, env: Record<string, string> = {}): Promise<Application> {
  const child = spawnTs(join(__dirname, 'bl-111.child.ts'), {
    args: [database.url, runs, String(lease)],
    env: { TZ: zone, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const sends: Application['sends'] = [];
  // By what is told: of two messages that come together, each reaches whoever waits for it.
  const told = new EventEmitter();
  child.on('message', (message: Told) => {
    for (const [what, value] of Object.entries(message)) told.emit(what, value);
  });
  told.on('sending', (sending: Application['sends'][number]) => sends.push(sending));
  const next = async <What extends keyof Told>(what: What): Promise<NonNullable<Told[What]>> =>
    ((await once(told, what)) as [NonNullable<Told[What]>])[0];
  const ask = <What extends keyof Told>(
    message: Order | Question | ClockSetting,
    what: What,
  ): Promise<NonNullable<Told[What]>> => {
    const answer = next(what);
    child.send(message);
    return answer;
  };
  return {
    child,
    offset: await next('offset'),
    sends,
    record: (order) => ask(order, 'recorded'),
    show: (id) => ask({ show: id }, 'shown'),
    setClock: async (ms) => {
      const { hour, now } = await ask({ clock: ms }, 'local');
      expect(now).toBeGreaterThanOrEqual(ms);
      return hour;
    },
  };
}

async function end({ child }: Application): Promise<void> {
  child.kill('SIGTERM');
  await once(child, 'exit');
}

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query(`ALTER DATABASE ${database.name} SET timezone = 'Pacific/Auckland'`);
  [west, east] = await Promise.all([start('west', 'America/Mexico_City'), start('east', 'Asia/Kolkata')]);
}, 180_000);

afterAll(async () => {
  await Promise.all([west, east].map(end));
  await database.drop();
});

/** The time in a column of a delivery, in ms since 1970 as the database counts them. */
async function instant(column: string, id: string): Promise<number> {
  const [row] = await database.query<{ ms: number }>(
    `SELECT (extract(epoch FROM ${column}) * 1000)::float8 AS ms FROM deliveries.deliveries WHERE id = $1`,
    [id],
  );
  return row!.ms;
}
const statusOf = async (id: string): Promise<unknown> =>
  (await database.query('SELECT status FROM deliveries.deliveries WHERE id = $1', [id]))[0]?.status;
const named = ({ sends }: Application, name: string): Application['sends'] =>
  sends.filter((each) => each.name === name);
/** The sends that it has begun by now: the table can show how one ended before the message comes that it began. */
async function begunByNow(application: Application, name: string, id: string): Promise<Application['sends']> {
  // Messages of a process come in order: whatever it told before this answer is here.
  await application.show(id);
  return named(application, name);
}

it('BL-111: really runs in the two zones, and keeps every time with its zone', async () => {
  expect([west.offset, east.offset]).toEqual([360, -330]);
  const columns = await database.query<{ data_type: string }>(
    `SELECT DISTINCT data_type FROM information_schema.columns
      WHERE table_schema = 'deliveries' AND data_type SIMILAR TO '(time|date)%'`,
  );
  expect(columns).toEqual([{ data_type: 'timestamp with time zone' }]);
});

describe.each(['west', 'east'] as const)('BL-111: recorded in the other zone, sent in the %s', (direction) => {
  const sender = (): Application => (direction === 'west' ? west : east);
  const recorder = (): Application => (direction === 'west' ? east : west);

  it('waits for the instant of notBefore, and no longer', async () => {
    const name = 'later';
    const notBefore = Date.now() + 60_000;
    const id = await recorder().record({ payload: { name }, notBefore });
    expect(await instant('due_at', id)).toBe(notBefore);
    const first = await recorder().record({ payload: { name: 'now' } });
    await until('what is due arrives', async () => (await statusOf(first)) === 'succeeded');
    expect(await begunByNow(sender(), name, id)).toEqual([]);
    await database.query(`UPDATE deliveries.deliveries SET due_at = due_at - interval '60 s' WHERE id = $1`, [id]);
    await until('it arrives', () => named(sender(), name).length === 1);
    expect(Math.abs(named(sender(), name)[0]!.createdAt - (await instant('created_at', id)))).toBeLessThan(1);
  });

  it.each([
    '2026-03-29T00:59:59.000Z',
    '2026-03-29T01:00:01.000Z',
    '2036-10-26T00:30:00.000Z',
    '2036-10-26T01:30:00.000Z',
  ])('keeps an instant beside a change of summer time: %s', async (text) => {
    const at = Date.parse(text);
    const name = `deadline ${text}`;
    // Past ones are expired, future ones are sent.
    const id = await recorder().record({ payload: { name }, deadline: at });
    expect(await instant('deadline', id)).toBe(at);
    await until('it ends', async () => (await statusOf(id)) !== 'pending');
    const future = at > Date.now();
    const sends = await begunByNow(sender(), name, id);
    expect(sends.map(({ deadline }) => deadline)).toEqual(future ? [at] : []);
    expect(await statusOf(id)).toBe(future ? 'succeeded' : 'failed');
  });

  it('waits for the instant of a Retry-After date', async () => {
    const retryAt = Math.ceil(Date.now() / 1_000) * 1_000 + 60_000;
    const id = await recorder().record({ payload: { name: 'again', retryAt } });
    await until('it has been tried', async () => (await instant('due_at', id)) > Date.now() + lease + 1_000);
    // The date counts whole seconds, and the wait is added to the clock at the write.
    expect(Math.abs((await instant('due_at', id)) - retryAt)).toBeLessThan(10_000);
  });

  it('leases for as long as it says', async () => {
    const name = 'held';
    const id = await recorder().record({ payload: { name, hold: true } });
    await until('it is being sent', () => named(sender(), name).length === 1);
    const left = (await instant('lease_expires_at', id)) - Date.now();
    sender().child.send('go on');
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(lease);
    await until('it is settled', async () => (await statusOf(id)) === 'succeeded');
  });
});

it('BL-111: shows the same instants, in UTC, to both and to a command in a third zone, on each side of changes of summer time', async () => {
  const instants = [
    // Berlin, whose clocks skip an hour, and repeat one.
    '2027-03-28T00:59:59.999Z',
    '2027-03-28T01:00:00.000Z',
    '2027-10-31T00:30:00.000Z',
    '2027-10-31T01:30:00.000Z',
    // Auckland, where the database is.
    '2027-09-25T13:59:59.999Z',
    '2027-09-25T14:00:00.000Z',
    '2027-04-03T13:30:00.000Z',
    '2027-04-03T14:30:00.000Z',
  ];
  for (const [index, text] of instants.entries()) {
    const at = Date.parse(text);
    // Not due before 2027, so that it is there to be looked at.
    const id = await west.record({ payload: { name: text }, notBefore: at, deadline: at + 1 });
    const [inWest, inEast] = [await west.show(id), await east.show(id)];
    expect(JSON.parse(inWest)).toMatchObject({ dueAt: text, deadline: new Date(at + 1).toISOString() });
    expect(inEast).toBe(inWest);
    if (index !== 2) continue;
    const env = { TZ: 'Europe/Berlin', DATABASE_URL: database.url };
    const command = await runTs('src/cli.ts', { args: ['show', id, '--json'], env });
    const { createdAt, dueAt, deadline } = JSON.parse(inWest) as Record<string, string>;
    expect(JSON.parse(command.stdout)).toMatchObject({ id, createdAt, dueAt, deadline });
  }
});

// The database decides by its own clock, whatever an application's says: this one is set to a change of summer time in Berlin, at
// 01:00 UTC, months from now.
describe('BL-111: an application whose clock goes through a change of summer time', () => {
  beforeAll(async () => {
    await end(west);
    const preloaded = { NODE_OPTIONS: `--require ${join(__dirname, 'bl-111.clock.cjs')}` };
    west = await start('west', 'Europe/Berlin', preloaded);
  }, 60_000);

  it.each([
    ['skips an hour', '2027-03-28T01:00:00.000Z', [1, 3]],
    ['repeats an hour', '2027-10-31T01:00:00.000Z', [2, 2]],
  ] as const)('%s: it leases, waits, records and settles by the clock of the database', async (what, text, hours) => {
    const change = Date.parse(text);
    expect(await west.setClock(change - 60_000)).toBe(hours[0]);
    const held = await east.record({ payload: { name: what, hold: true } });
    await until('it is being sent', () => named(west, what).length === 1);
    const left = (await instant('lease_expires_at', held)) - Date.now();
    expect(await west.setClock(change)).toBe(hours[1]);
    west.child.send('go on');
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(lease);
    await until('it is settled', async () => (await statusOf(held)) === 'succeeded');
    expect(named(west, what)).toHaveLength(1);

    const retryAt = Math.ceil(Date.now() / 1_000) * 1_000 + 60_000;
    const again = await east.record({ payload: { name: `${what}, again`, retryAt } });
    await until('it has been tried', async () => (await instant('due_at', again)) > Date.now() + lease + 1_000);
    expect(Math.abs((await instant('due_at', again)) - retryAt)).toBeLessThan(10_000);

    const before = Date.now();
    const ahead = await west.record({ payload: { name: `${what}, recorded` } });
    await until('what it recorded has arrived', async () => (await statusOf(ahead)) === 'succeeded');
    expect(await instant('created_at', ahead)).toBeGreaterThanOrEqual(before - 1);
    expect(await instant('settled_at', ahead)).toBeLessThanOrEqual(Date.now() + 1);
    expect(await west.show(ahead)).toBe(await east.show(ahead));
  });
});
