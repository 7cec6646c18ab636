import * as fc from 'fast-check';
import {
  DeliveryChannel,
  InvalidDraftError,
  succeeded,
  type ChannelHandler,
  type Delivery,
  type Outcome,
} from 'nest-deliveries';
import { until } from '../deliveries/letters';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

// BL-002: a payload that PostgreSQL cannot store is refused before any SQL, and what is stored is what was recorded.

@DeliveryChannel({ name: 'notes', maxAge: '1h' })
class Notes implements ChannelHandler {
  readonly arrived = new Map<string, unknown>();
  deliveries(): [] {
    return [];
  }
  send({ id, payload }: Delivery): Promise<Outcome> {
    this.arrived.set(id, payload);
    return Promise.resolve(succeeded());
  }
}

let database: TestDatabase;
let app: DeliveriesApp;

beforeAll(async () => {
  database = await createTestDatabase();
  await database.query('CREATE TABLE orders (id int PRIMARY KEY)');
  app = await startDeliveriesApp(database.url, [Notes], { concurrency: 100 });
});
afterAll(async () => {
  await app.close();
  await database.drop();
});

const cyclic: Record<string, unknown> = {};
cyclic['self'] = cyclic;

it('BL-002: refuses each bad value with its path, and the caller’s transaction commits what else it did', async () => {
  const bad: [unknown, string][] = [
    [{ note: 'a\0b' }, 'payload.note'],
    [{ 'a\0': 1 }, 'the key "a\\u0000" in payload'],
    [{ note: 'x\ud800' }, 'payload.note'],
    [{ note: undefined }, 'payload.note'],
    [{ note: 1n }, 'payload.note'],
    [cyclic, 'payload.self'],
    [{ note: new Date(NaN) }, 'payload.note'],
    [{ note: NaN }, 'payload.note'],
    [{ note: Infinity }, 'payload.note'],
  ];
  await app.dataSource.transaction(async (tx) => {
    await tx.query('INSERT INTO orders VALUES (1)');
    for (const [payload, path] of bad) {
      const call = app.recorder.enqueue(tx, Notes, { destination: 'a desk', payload });
      await expect(call).rejects.toThrow(InvalidDraftError);
      await expect(call).rejects.toMatchObject({ path });
    }
    await tx.query('INSERT INTO orders VALUES (2)');
  });
  expect(await database.query('SELECT id FROM orders ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }]);
  expect(await database.query('SELECT FROM deliveries.deliveries')).toEqual([]);
});

it('BL-002: sends exactly what was recorded, or refuses to record it', async () => {
  const anything = fc.oneof(
    fc.jsonValue({ stringUnit: 'binary', maxDepth: 4 }),
    fc.double().map((n) => ({ n })),
    fc.string({ unit: 'binary' }).map((text) => ({ [text]: text })),
    fc.array(fc.integer({ min: 0xd000, max: 0xe000 })).map((units) => String.fromCharCode(...units)),
  );
  const payloads = fc.sample(anything, 300);
  const recorded = new Map<string, unknown>();
  let refused = 0;
  await app.recorder.transaction(async (tx) => {
    for (const payload of payloads) {
      try {
        const { id } = await app.recorder.enqueue(tx, Notes, { destination: 'a desk', payload });
        recorded.set(id, payload);
      } catch (error) {
        if (!(error instanceof InvalidDraftError)) throw error;
        refused += 1;
      }
    }
  });
  const { arrived } = app.module.get(Notes);
  await until('all that was recorded arrives', () => arrived.size === recorded.size);
  expect(recorded.size + refused).toBe(300);
  expect(Math.min(recorded.size, refused)).toBeGreaterThan(20);
  for (const [id, payload] of recorded) expect(inOneForm(arrived.get(id))).toBe(inOneForm(payload));
});

/** JSON with keys in one order, since jsonb keeps none; -0 is 0, as JSON has it. */
function inOneForm(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOneForm).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}:${inOneForm(each)}`);
  return `{${entries.toSorted().join()}}`;
}
