import { ScheduleModule } from '@nestjs/schedule';
import { Test, type TestingModule } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { OutboundHttpModule } from 'nest-deliveries/outbound-http';
import {
  channelContract,
  DeliveriesTester,
  DeliveriesTestingModule,
  httpReceiver,
  startReceiver,
  type ScriptedReceiver,
} from 'nest-deliveries/testing';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { Customer, Order } from './guides/entities';
import { NewsletterChannel } from './guides/newsletter.channel';
import { OrdersService } from './guides/orders.service';
import { ReminderChannel } from './guides/reminder.channel';
import { WarehouseChannel } from './guides/warehouse.channel';

// The code that the guides show is an application, and does what the guides say of it.

let warehouse: ScriptedReceiver;
let database: TestDatabase;
let app: TestingModule;
let orders: OrdersService;
let tester: DeliveriesTester;

beforeAll(async () => {
  warehouse = await startReceiver();
  database = await createTestDatabase({ empty: true });
  process.env.DATABASE_URL = database.url;
  process.env.WAREHOUSE_URL = `${warehouse.url}/orders`;
  // What it reads from the environment it reads when it is loaded.
  const { dataSource } = jest.requireActual<typeof import('./guides/data-source')>('./guides/data-source');
  await dataSource.initialize();
  await dataSource.runMigrations();
  await dataSource.destroy();
  const { deliveries } = jest.requireActual<typeof import('./guides/processes')>('./guides/processes');
  app = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: database.url, entities: [Customer, Order], synchronize: true }),
      ScheduleModule.forRoot(),
      OutboundHttpModule.forRoot({ testMode: true }),
      deliveries,
      DeliveriesTestingModule,
    ],
    providers: [WarehouseChannel, ReminderChannel, NewsletterChannel, OrdersService],
  }).compile();
  await app.init();
  orders = app.get(OrdersService);
  tester = app.get(DeliveriesTester);
});

afterAll(async () => {
  await app.close();
  await warehouse.close();
  await database.drop();
});

const customer = (subscribed = false): Promise<Customer> =>
  tester.dataSource.manager.save(Customer, tester.dataSource.manager.create(Customer, { subscribed }));

test('an order’s changes arrive in the order of their commits, past a failure', async () => {
  const { id: customerId } = await customer();
  const order = await orders.place(customerId);
  await orders.ship([order]);
  warehouse.answer(503, 204);
  await tester.drain({ until: '1m', channel: WarehouseChannel });
  expect(warehouse.requests.map((request) => (request.json() as { status: string }).status)).toEqual([
    'placed',
    'placed',
    'shipped',
  ]);
  const [placed, shipped] = await tester.recorded(WarehouseChannel, { recipient: { customerId } });
  expect(warehouse.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([
    placed!.id,
    placed!.id,
    shipped!.id,
  ]);
});

test('a reminder is recorded once, and not sent when it has lost its sense', async () => {
  const { id } = await customer();
  const [waiting, gone] = [await orders.place(id), await orders.place(id)];
  const tomorrow = new Date(Date.now() + 86_400_000);
  await orders.remind(waiting, tomorrow);
  await orders.remind(waiting, tomorrow);
  await orders.remind(gone, tomorrow);
  await orders.ship([gone]);
  expect(await tester.recorded(ReminderChannel)).toHaveLength(2);
  expect(await tester.drain({ channel: ReminderChannel })).toEqual([]);
  const played = await tester.drain({ until: '25h', channel: ReminderChannel });
  expect(played.map(({ outcome, error }) => `${outcome} ${error ?? ''}`).toSorted()).toEqual([
    'skipped order_moved_on',
    'succeeded ',
  ]);
});

test('an issue is one statement for all who want it', async () => {
  await customer(true);
  await customer(true);
  await tester.recorder.transaction((tx) =>
    tester.recorder.record(tx, { type: 'issue_published', payload: { issueId: '7' } }),
  );
  const issues = await tester.recorded(NewsletterChannel, { payload: { issueId: '7' } });
  expect(issues).toHaveLength(2);
  expect((await tester.drain({ channel: NewsletterChannel })).map(({ outcome }) => outcome)).toEqual([
    'succeeded',
    'succeeded',
  ]);
});

describe('the channel of the guide', () => {
  const contract = channelContract({
    tester: () => tester,
    channel: WarehouseChannel,
    record: async (tx, { recorder }) => {
      const { id } = await tx.save(Order, { customerId: crypto.randomUUID(), status: 'placed' });
      const payload = { orderId: id, status: 'placed', customerId: crypto.randomUUID() };
      await recorder.record(tx, { type: 'order_changed', payload });
    },
    receiver: httpReceiver(
      () => warehouse,
      ({ headers }) => headers['idempotency-key'] as string | undefined,
    ),
  });
  test.each(contract)('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});
