import { draftsFrom, InvalidDraftError, type DeliveryEvent } from 'nest-deliveries';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { letter, Letters, until } from './letters';

let database: TestDatabase;
let app: DeliveriesApp;
let letters: Letters;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query('CREATE TABLE people (id int PRIMARY KEY, name text)');
  await database.query(`INSERT INTO people SELECT n, 'person ' || n FROM generate_series(1, 1000) n`);
  app = await startDeliveriesApp(database.url, [Letters]);
  letters = app.module.get(Letters);
});

beforeEach(() => {
  letters.arrived.length = 0;
});

afterEach(() => database.query('TRUNCATE deliveries.deliveries, deliveries.events, deliveries.delivery_attempts'));

afterAll(async () => {
  await app.close();
  await database.drop();
});

const announced: DeliveryEvent = { type: 'announced' };
const toEverybody = draftsFrom(
  `SELECT name AS destination, jsonb_build_object('text', $1::text || id) AS payload, jsonb_build_object('person', id) AS recipient
     FROM people`,
  ['hello '],
);
const count = async (of: string): Promise<number> =>
  (await database.query<{ count: number }>(`SELECT count(*)::integer AS count FROM deliveries.${of}`))[0]!.count;

test('one statement records a thousand deliveries that are like any others, and all of them arrive', async () => {
  letters.fanOut = ({ type }) => (type === 'announced' ? toEverybody : []);
  const recorded = await app.recorder.transaction((tx) => app.recorder.record(tx, announced));
  expect(recorded).toEqual({ eventId: expect.any(String) as string, deliveries: [], queried: 1_000 });
  await until('all arrive', () => letters.arrived.length === 1_000);
  expect(new Set(letters.texts()).size).toBe(1_000);
  const delivery = letters.arrived.find(({ recipient }) => recipient?.person === 7)!;
  expect(delivery).toMatchObject({
    eventId: recorded.eventId,
    destination: 'person 7',
    payload: { text: 'hello 7' },
    lane: null,
    orderingKey: null,
  });
  // RFC 9562: version 7 with the milliseconds in front, variant 10.
  expect(delivery.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(Math.abs(parseInt(delivery.id.replaceAll('-', '').slice(0, 12), 16) - Date.now())).toBeLessThan(60_000);
  const [event] = await database.query<{ ids: string[] }>('SELECT delivery_ids AS ids FROM deliveries.events');
  expect(new Set(event!.ids)).toEqual(new Set(letters.arrived.map(({ id }) => id)));
});

test('a query can give lanes, times and deadlines, and is rolled back with its transaction', async () => {
  const query = draftsFrom(
    `SELECT 'a desk' AS destination, '{"text":"x"}'::jsonb AS payload, 'lane ' || n AS lane,
            now() + interval '1 hour' AS not_before, now() + interval '2 hours' AS deadline
       FROM generate_series(1, $1) n`,
    [3],
  );
  const failure = new Error('changed my mind');
  const refused = app.recorder.transaction(async (tx) => {
    expect(await app.recorder.enqueue(tx, Letters, query)).toBe(3);
    throw failure;
  });
  await expect(refused).rejects.toBe(failure);
  expect([await count('deliveries'), await count('events')]).toEqual([0, 0]);
  await app.recorder.transaction((tx) => app.recorder.enqueue(tx, Letters, query));
  expect(
    await database.query(
      `SELECT lane, due_at > now() + interval '59 minutes' AS later, deadline > now() + interval '119 minutes' AS ends
         FROM deliveries.deliveries ORDER BY lane`,
    ),
  ).toEqual([1, 2, 3].map((n) => ({ lane: `lane ${n}`, later: true, ends: true })));
});

test('a query that finds nobody records nothing', async () => {
  const nobody = draftsFrom(`SELECT '' AS destination, NULL::jsonb AS payload WHERE false`);
  expect(await app.recorder.transaction((tx) => app.recorder.enqueue(tx, Letters, nobody))).toBe(0);
  expect([await count('deliveries'), await count('events')]).toEqual([0, 0]);
});

test.each([
  ['destination', `SELECT repeat('x', 501) AS destination, '{}'::jsonb AS payload`],
  ['destination', `SELECT '' AS destination, '{}'::jsonb AS payload`],
  ['destination', `SELECT NULL AS destination, '{}'::jsonb AS payload`],
  ['payload', `SELECT 'x' AS destination, NULL::jsonb AS payload`],
  ['payload', `SELECT 'x' AS destination, to_jsonb(repeat('x', 262143)) AS payload`],
  ['recipient', `SELECT 'x' AS destination, '{}'::jsonb AS payload, to_jsonb(repeat('x', 2047)) AS recipient`],
  ['lane', `SELECT 'x' AS destination, '{}'::jsonb AS payload, repeat('x', 256) AS lane`],
])(
  'a row that breaks the limit of its %s refuses the whole call, and the transaction stays usable',
  async (path, sql) => {
    letters.fanOut = ({ type }) => (type === 'announced' ? draftsFrom(`${sql} UNION ALL ${sql}`) : [letter('plain')]);
    const caught = await app.recorder.transaction(async (tx) => {
      const error: unknown = await app.recorder
        .record(tx, [{ type: 'other' }, announced])
        .catch((thrown: unknown) => thrown);
      expect(await tx.query('SELECT count(*)::integer AS count FROM deliveries.deliveries')).toEqual([{ count: 0 }]);
      await tx.query('SELECT 1');
      return error;
    });
    expect(caught).toBeInstanceOf(InvalidDraftError);
    expect((caught as InvalidDraftError).path).toBe(path);
    expect((caught as Error).message).toContain('Query of channel "letters"');
    expect([await count('deliveries'), await count('events')]).toEqual([0, 0]);
  },
);

test('a query that PostgreSQL refuses ends the transaction with its own error, as any statement does', async () => {
  const divides = draftsFrom(`SELECT (1 / $1)::text AS destination, '{}'::jsonb AS payload`, [0]);
  const call = app.recorder.transaction(async (tx) => {
    await expect(app.recorder.enqueue(tx, Letters, divides)).rejects.toMatchObject({ code: '22012' });
    await tx.query('SELECT 1');
  });
  // 25P02: PostgreSQL wants nothing more of a transaction in which something failed
  await expect(call).rejects.toMatchObject({ code: '25P02' });
  expect([await count('deliveries'), await count('events')]).toEqual([0, 0]);
});

test('lists and queries of several events are told apart', async () => {
  letters.fanOut = ({ type }) => (type === 'announced' ? toEverybody : [letter('plain')]);
  const recorded = await app.recorder.transaction((tx) => app.recorder.record(tx, [announced, { type: 'other' }]));
  expect(recorded.map(({ deliveries, queried }) => [deliveries.length, queried])).toEqual([
    [0, 1_000],
    [1, 0],
  ]);
});
