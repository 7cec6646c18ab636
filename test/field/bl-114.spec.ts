import { DedupeConflictError } from 'nest-deliveries';
import type { EntityManager } from 'typeorm';
import { Letters, backendPid, gate, letter } from '../deliveries/letters';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

// BL-114: with a small pool, a call inside a transaction that asks for a second connection freezes the application.

let database: TestDatabase;
let app: DeliveriesApp | undefined;

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(async () => {
  await app?.close();
  await database.query('DELETE FROM deliveries.deliveries');
});
afterAll(() => database.drop());

/** Everything that a caller can do in a transaction. */
async function everyCall({ recorder, module }: DeliveriesApp, tx: EntityManager, name: string): Promise<void> {
  module.get(Letters).fanOut = async ({ payload }, given) => {
    const [row] = await given.query<{ pid: number }[]>('SELECT pg_backend_pid() AS pid');
    return (payload as string[]).map((text) => letter(`${text} by ${row!.pid}`));
  };
  await recorder.record(tx, { type: 'letters_written', payload: [`${name} 1`, `${name} 2`] });
  await recorder.record(tx, [{ type: 'letters_written', payload: Array(100).fill(name) }]);
  await recorder.enqueue(tx, Letters, letter(name));
  // The look at who holds a key
  await recorder.enqueue(tx, Letters, [
    { ...letter(name), dedupeKey: `${name} once` },
    { ...letter(name), dedupeKey: `${name} once` },
  ]);
  await recorder.enqueue(tx, Letters, { ...letter(name), orderingKey: name });
}

it.each([
  [1, 2],
  [2, 2],
  [1, 0],
])('BL-114: a host’s pool of %i and %i workers: as many transactions at once finish', async (poolSize, workers) => {
  app = await startDeliveriesApp(database.url, [Letters], { workers }, poolSize);
  const { dataSource, recorder } = app;
  const open = gate();
  let opened = 0;
  const all = Array.from({ length: poolSize }, (_, index) =>
    (index === 0 ? recorder : dataSource).transaction(async (tx) => {
      if ((opened += 1) === poolSize) open.open();
      await open.passed;
      await everyCall(app!, tx, `transaction ${index}`);
    }),
  );
  await Promise.all(all);
  // 2 + 100 and 1, one for its dedupe key, one for its ordering key
  expect(await database.query('SELECT FROM deliveries.deliveries')).toHaveLength(poolSize * 105);
});

it('BL-114: uses no connection but the caller’s while its transaction is open', async () => {
  app = await startDeliveriesApp(database.url, [Letters], { workers: 0, cleanUpInterval: false, listen: false });
  // Clients: PostgreSQL's own processes, such as an automatic vacuum, come when they like.
  const others = (own: number): Promise<object[]> =>
    database.query(
      `SELECT pid, query_start::text, state, query FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid NOT IN (pg_backend_pid(), $1) ORDER BY pid`,
      [own],
    );
  await app.dataSource.transaction(async (tx) => {
    const own = await backendPid(tx);
    const before = await others(own);
    await everyCall(app!, tx, 'open');
    const conflict = app!.recorder.enqueue(tx, Letters, { ...letter('another'), dedupeKey: 'open once' });
    await expect(conflict).rejects.toThrow(DedupeConflictError);
    expect(await others(own)).toEqual(before);
  });
});
