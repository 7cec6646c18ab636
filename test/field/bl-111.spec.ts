import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { until } from '../deliveries/letters';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { runTs, spawnTs } from '../support/ts-child';
import type { Order, Question, Told } from './bl-111.child';

// BL-111: times are shifted by a local offset. One application in Mexico City, one in Kolkata, the database in Auckland.

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
}

async function start(runs: 'west' | 'east', zone: string): Promise<Application> {
  const child = spawnTs(join(__dirname, 'bl-111.child.ts'), {
    args: [database.url, runs],
    env: { TZ: zone },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const sends: Application['sends'] = [];
  child.on('message', ({ sending }: Told) => sending && sends.push(sending));
  const told = async (): Promise<Told> => ((await once(child, 'message')) as [Told])[0];
  const { offset } = await told();
  return {
    child,
    offset: offset!,
    sends,
    record: async (order) => {
      child.send(order);
      for (;;) {
        const { recorded } = await told();
        if (recorded !== undefined) return recorded;
      }
    },
    show: async (id) => {
      child.send({ show: id } satisfies Question);
      for (;;) {
        const { shown } = await told();
        if (shown !== undefined) return shown;
      }
    },
  };
}

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query(`ALTER DATABASE ${database.name} SET timezone = 'Pacific/Auckland'`);
  [west, east] = await Promise.all([start('west', 'America/Mexico_City'), start('east', 'Asia/Kolkata')]);
}, 60_000);

afterAll(async () => {
  await Promise.all(
    [west, east].map(async ({ child }) => {
      child.kill('SIGTERM');
      await once(child, 'exit');
    }),
  );
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
    expect(named(sender(), name)).toEqual([]);
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
    expect(named(sender(), name).map(({ deadline }) => deadline)).toEqual(future ? [at] : []);
    expect(await statusOf(id)).toBe(future ? 'succeeded' : 'failed');
  });

  it('waits for the instant of a Retry-After date', async () => {
    const retryAt = Math.ceil(Date.now() / 1_000) * 1_000 + 60_000;
    const id = await recorder().record({ payload: { name: 'again', retryAt } });
    await until('it has been tried', async () => (await instant('due_at', id)) > Date.now() + 30_000);
    // The date counts whole seconds, and the wait is added to the clock at the write.
    expect(Math.abs((await instant('due_at', id)) - retryAt)).toBeLessThan(2_000);
  });

  it('leases for as long as it says', async () => {
    const name = 'held';
    const id = await recorder().record({ payload: { name, hold: true } });
    await until('it is being sent', () => named(sender(), name).length === 1);
    const left = (await instant('lease_expires_at', id)) - Date.now();
    sender().child.send('go on');
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(6_000);
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
