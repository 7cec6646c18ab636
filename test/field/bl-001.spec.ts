import { DeliveryChannel, retry, succeeded, type ChannelHandler, type Delivery, type Outcome } from 'nest-deliveries';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EntityManager } from 'typeorm';
import { request } from 'undici';
import { gate, until } from '../deliveries/letters';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

// BL-001: workers pick up a delivery whose business row does not exist yet.

let receiver: Server;
let database: TestDatabase;
let apps: DeliveriesApp[];
const received: { id: string; order: number }[] = [];
const orders = (...numbers: number[]): number[] =>
  received.map(({ order }) => order).filter((order) => numbers.includes(order));

@DeliveryChannel({ name: 'orders', maxAge: '1h' })
class Orders implements ChannelHandler<{ order: number }> {
  deliveries(): [] {
    return [];
  }

  async send({ id, payload }: Delivery<{ order: number }>): Promise<Outcome> {
    const { port } = receiver.address() as AddressInfo;
    const body = JSON.stringify({ id, ...payload });
    const response = await request(`http://127.0.0.1:${port}/`, { method: 'POST', body });
    await response.body.dump();
    return response.statusCode === 204 ? succeeded() : retry(response.statusCode);
  }
}

beforeAll(async () => {
  receiver = createServer((incoming, response) => {
    let body = '';
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
    incoming.on('end', () => {
      received.push(JSON.parse(body) as (typeof received)[number]);
      response.writeHead(204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  database = await createTestDatabase();
  await database.query(
    'CREATE TABLE orders (id int PRIMARY KEY, parent int REFERENCES orders DEFERRABLE INITIALLY DEFERRED)',
  );
  apps = await Promise.all([startDeliveriesApp(database.url, [Orders]), startDeliveriesApp(database.url, [Orders])]);
});

afterAll(async () => {
  await Promise.all(apps.map((app) => app.close()));
  receiver.close();
  receiver.closeAllConnections();
  await database.drop();
});

const place = async (tx: EntityManager, order: number): Promise<void> => {
  await tx.query('INSERT INTO orders (id) VALUES ($1)', [order]);
  await apps[0]!.recorder.enqueue(tx, Orders, { destination: 'the shop', payload: { order } });
};

let probe = 0;
/** A delivery of each application goes through, committed now: the workers of both look, and find what is visible. */
async function everybodyLooks(): Promise<void> {
  for (const app of apps) {
    const order = -(probe += 1);
    await app.recorder.transaction((tx) =>
      app.recorder.enqueue(tx, Orders, { destination: 'the shop', payload: { order } }),
    );
    for (const each of apps) each.workers.wake();
    await until('the probe arrives', () => orders(order).length === 1);
  }
}
const rows = (...numbers: number[]): Promise<object[]> =>
  database.query(
    `SELECT (payload->>'order')::int AS order FROM deliveries.deliveries WHERE (payload->>'order')::int = ANY($1) ORDER BY id`,
    [numbers],
  );

it('BL-001: sends exactly once after the commit, and nothing while the transaction is open', async () => {
  const recorded = gate();
  const mayCommit = gate();
  const transaction = apps[0]!.dataSource.transaction(async (tx) => {
    await place(tx, 7001);
    recorded.open();
    await mayCommit.passed;
  });
  await recorded.passed;
  await everybodyLooks();
  expect(orders(7001)).toEqual([]);
  expect(await rows(7001)).toEqual([]);
  mayCommit.open();
  await transaction;
  await until('the order arrives', () => orders(7001).length === 1);
  await everybodyLooks();
  expect(orders(7001)).toEqual([7001]);
  expect(await database.query('SELECT id FROM orders WHERE id = 7001')).toHaveLength(1);
});

it('BL-001: sends nothing after a rollback', async () => {
  const rolledBack = apps[0]!.dataSource.transaction(async (tx) => {
    await place(tx, 7002);
    await everybodyLooks();
    throw new Error('no');
  });
  await expect(rolledBack).rejects.toThrow('no');
  await everybodyLooks();
  expect([orders(7002), await rows(7002)]).toEqual([[], []]);
});

it('BL-001: sends nothing after a commit that fails', async () => {
  const failed = apps[0]!.dataSource.transaction(async (tx) => {
    await place(tx, 7003);
    await tx.query('UPDATE orders SET parent = 1 WHERE id = 7003');
  });
  await expect(failed).rejects.toMatchObject({ code: '23503' });
  await everybodyLooks();
  expect([orders(7003), await rows(7003)]).toEqual([[], []]);
});

it('BL-001: sends nothing of a savepoint that was rolled back, and the rest of its transaction', async () => {
  await apps[0]!.dataSource.transaction(async (tx) => {
    await tx.query('SAVEPOINT here');
    await place(tx, 7004);
    await tx.query('ROLLBACK TO SAVEPOINT here');
    await place(tx, 7005);
  });
  await until('the order arrives', () => orders(7005).length === 1);
  await everybodyLooks();
  expect([orders(7004, 7005), await rows(7004, 7005)]).toEqual([[7005], [{ order: 7005 }]]);
});
