import { Inject, Injectable, type INestApplication, type Type } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import {
  ChannelPauses,
  DeliveriesModule,
  DeliveriesMetrics,
  deliveriesToken,
  DeliveryChannel,
  DeliveryOperations,
  DeliveryRecorder,
  succeeded,
  TransactionRequiredError,
  UnknownChannelError,
  RuntimeChannels,
  type DeliveriesOptions,
  type Delivery,
  type DeliveryEvent,
} from 'nest-deliveries';
import { BackchannelLogoutModule, sessionRevoked } from 'nest-deliveries/backchannel-logout';
import { DeliveriesCommandModule } from 'nest-deliveries/commands';
import { EmailModule } from 'nest-deliveries/email';
import { OutboundHttpModule } from 'nest-deliveries/outbound-http';
import {
  WebhookConfig,
  WebhookDestination,
  WebhookEndpoints,
  WebhookOutboxes,
  WebhooksModule,
} from 'nest-deliveries/webhooks';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import supertest from 'supertest';
import { DataSource } from 'typeorm';
import { StatsCommand } from '../../libs/deliveries/src/commands/stats.command';
import { LoginWatch } from '../../libs/email/src/relay/login-watch';
import { until } from '../faults/support/facts';
import { testPace } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { newKeyring, newSigningKey } from '../webhooks/support/webhooks-app';

const sent: string[] = [];

class Sends {
  deliveries({ type, payload }: DeliveryEvent): { destination: string; payload: unknown }[] {
    return [{ destination: `${this.constructor.name} of ${type}`, payload }];
  }

  send({ destination }: Delivery): Promise<ReturnType<typeof succeeded>> {
    sent.push(destination);
    return Promise.resolve(succeeded());
  }
}

@DeliveryChannel({ name: 'letter', maxAge: '1d' })
class Letter extends Sends {}

@DeliveryChannel({ name: 'invoice', maxAge: '1d', module: 'billing' })
class Invoice extends Sends {}

@DeliveryChannel({ name: 'stray', maxAge: '1d', module: 'biling' })
class Stray extends Sends {}

@Injectable()
class Shop {
  constructor(
    readonly letters: DeliveryRecorder,
    @Inject(deliveriesToken(DeliveryRecorder, 'billing')) readonly invoices: DeliveryRecorder,
    readonly source: DataSource,
    @Inject(getDataSourceToken('billing')) readonly billing: DataSource,
  ) {}
}

let databases: [TestDatabase, TestDatabase];
let emptyFolder: string;
let app: INestApplication | undefined;

beforeAll(async () => {
  databases = [await createTestDatabase(), await createTestDatabase()];
  emptyFolder = mkdtempSync(join(tmpdir(), 'no-templates-'));
});

afterEach(async () => {
  await app?.close();
  app = undefined;
});

afterAll(async () => {
  rmSync(emptyFolder, { recursive: true });
  await Promise.all(databases.map((database) => database.drop()));
});

const registry = new Registry();
const guards = [{ canActivate: () => true }];
const nameless: DeliveriesOptions = { ...testPace, metrics: { registry }, admin: { guards } };
const billing: DeliveriesOptions = { ...nameless, name: 'billing', dataSource: getDataSourceToken('billing') };

async function start(modules: DeliveriesOptions[], channels: Type[] = [Letter, Invoice]): Promise<INestApplication> {
  const [first, second] = databases.map(({ url }) => ({ type: 'postgres' as const, url, retryAttempts: 0 }));
  const builder = Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot(first),
      TypeOrmModule.forRoot({ ...second!, name: 'billing' }),
      ScheduleModule.forRoot(),
      ...modules.map((options) => DeliveriesModule.forRoot(options)),
    ],
    providers: [...channels, ...(channels.length === 2 ? [Shop] : [])],
  });
  app = (await builder.compile()).createNestApplication();
  await app.init();
  return app;
}

const destinations = (database: TestDatabase): Promise<unknown[]> =>
  database.query(`SELECT destination, status FROM deliveries.deliveries ORDER BY destination`);

it('sends what each records in its own database, whichever was imported first', async () => {
  for (const modules of [
    [nameless, billing],
    [billing, nameless],
  ]) {
    const { letters, invoices, source, billing: bills } = (await start(modules)).get(Shop);
    await source.transaction((tx) => letters.record(tx, { type: 'sign_up', payload: {} }));
    await bills.transaction((tx) => invoices.record(tx, { type: 'sale', payload: {} }));
    await until('both have arrived', () => sent.length === 2);
    expect(sent.splice(0).toSorted()).toEqual(['Invoice of sale', 'Letter of sign_up']);
    const settled = async (database: TestDatabase): Promise<boolean> =>
      (await database.query(`SELECT FROM deliveries.deliveries WHERE status = 'pending'`)).length === 0;
    await until('both are settled', async () => (await settled(databases[0])) && (await settled(databases[1])));
    expect(await destinations(databases[0])).toEqual([{ destination: 'Letter of sign_up', status: 'succeeded' }]);
    expect(await destinations(databases[1])).toEqual([{ destination: 'Invoice of sale', status: 'succeeded' }]);
    await app!.close();
    app = undefined;
    for (const database of databases) await database.query('DELETE FROM deliveries.deliveries');
  }
});

it('refuses what belongs to the other one', async () => {
  const { letters, invoices, source, billing: bills } = (await start([nameless, billing])).get(Shop);
  const event = { type: 'sale', payload: {} };
  await expect(bills.transaction((tx) => letters.record(tx, event))).rejects.toThrow(TransactionRequiredError);
  const draft = { destination: 'x', payload: {} };
  const stray = source.transaction((tx) => letters.enqueue(tx, Invoice, draft));
  await expect(stray).rejects.toThrow(UnknownChannelError);
  await expect(stray).rejects.toThrow('Invoice is a channel of the DeliveriesModule named "billing"');
  await expect(bills.transaction((tx) => invoices.enqueue(tx, Letter, draft))).rejects.toThrow(
    'Letter is a channel of the DeliveriesModule without a name, and this recorder is that of the DeliveriesModule named "billing"',
  );
  const opened = app!.get<RuntimeChannels>(deliveriesToken(RuntimeChannels));
  expect(() => opened.open({ name: 'late', maxAge: '1d', module: 'billing' }, new Letter())).toThrow(
    'opens a channel of the DeliveriesModule named "billing" in the DeliveriesModule without a name',
  );
});

it('has routes, timers and metrics of its own for each', async () => {
  const { invoices, billing: bills } = (await start([nameless, billing])).get(Shop);
  await bills.transaction((tx) => invoices.record(tx, { type: 'sale', payload: {} }));
  await until('it has arrived', () => sent.length === 1);
  sent.length = 0;
  const listed = async (path: string): Promise<unknown> => {
    const { body } = await supertest(app!.getHttpServer()).get(`${path}/api/deliveries`).expect(200);
    return (body as { deliveries: { channel: string }[] }).deliveries.map(({ channel }) => channel);
  };
  expect(await listed('/admin/deliveries')).toEqual([]);
  expect(await listed('/admin/deliveries-billing')).toEqual(['invoice']);
  await supertest(app!.getHttpServer())
    .get('/admin/deliveries-billing/overview')
    .expect(200)
    .expect(/invoice/);
  const timers = ['deliveries:deliveries', 'deliveries/billing:deliveries'].flatMap((of) =>
    [`poll:${of.includes('billing') ? 'invoice' : 'letter'}`, 'clean-up', 'count'].map((what) => `${of}:${what}`),
  );
  expect(app!.get(SchedulerRegistry).getIntervals().toSorted()).toEqual(timers.toSorted());
  await until('it is counted', async () =>
    (await registry.metrics()).includes('deliveries_attempts_total{channel="invoice",outcome="succeeded"} 1'),
  );
  const metrics = (name?: string): DeliveriesMetrics => app!.get(deliveriesToken(DeliveriesMetrics, name));
  expect(metrics()).not.toBe(metrics('billing'));
});

it('serves the libraries that are told so, in its own database', async () => {
  const [first, second] = databases.map(({ url }) => ({ type: 'postgres' as const, url, retryAttempts: 0 }));
  const deliveries = 'billing';
  const receiver = WebhookDestination.approvedHttps('https://receiver.example/events');
  const builder = Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot(first),
      TypeOrmModule.forRoot({ ...second!, name: 'billing' }),
      ScheduleModule.forRoot(),
      OutboundHttpModule.forRoot({ isGlobal: true }),
      ...[nameless, billing].map((options) => DeliveriesModule.forRoot({ ...options, workers: 0, admin: undefined })),
      WebhooksModule.forRoot({ deliveries, keyring: newKeyring(), endpoints: {} }),
      BackchannelLogoutModule.forRoot({
        deliveries,
        issuer: 'https://accounts.example',
        signingKey: () => ({ kid: 'k1', alg: 'EdDSA', privateKey: generateKeyPairSync('ed25519').privateKey }),
        clientsOf: () => [{ clientId: 'c1', logoutUri: 'https://client.example/logout' }],
      }),
      EmailModule.forRoot({
        deliveries,
        url: 'smtp://127.0.0.1:9',
        from: { name: 'Example', address: 'hello@example.com' },
        kinds: [],
        templates: emptyFolder,
      }),
      DeliveriesCommandModule.forRoot({ name: 'billing', dataSource: getDataSourceToken('billing') }),
    ],
    providers: [Letter, Invoice, Shop],
  });
  app = (await builder.compile()).createNestApplication();
  await app.init();
  const { invoices, billing: bills, source } = app.get(Shop);

  const endpoints = app.get(WebhookEndpoints);
  await endpoints.register({ tenant: 't', url: 'https://receiver.example/events', kinds: ['*'] });
  const namespace = new WebhookConfig({ namespace: 'shop', destination: receiver, quota: 9 });
  const outbox = await app.get(WebhookOutboxes).open(namespace, newSigningKey(), { workers: 0 });
  await bills.transaction(async (tx) => {
    await endpoints.publish(tx, { tenant: 't', kind: 'sale', body: Buffer.from('{}') });
    await outbox.enqueue(tx, 'one', 'sale', Buffer.from('{}'));
    await invoices.record(tx, sessionRevoked({ sub: 's', sid: 'i' }));
  });
  await expect(
    source.transaction((tx) => endpoints.publish(tx, { tenant: 't', kind: 'sale', body: Buffer.from('{}') })),
  ).rejects.toThrow(TransactionRequiredError);
  const waiting = `SELECT channel FROM deliveries.deliveries WHERE status = 'pending' ORDER BY channel`;
  const channels = await databases[1].query(waiting);
  expect(channels.map(({ channel }) => channel)).toEqual([
    'backchannel_logout',
    'invoice',
    'webhooks',
    'webhooks.shop',
  ]);
  expect(await destinations(databases[0])).toEqual([]);

  const ofBilling = <T>(each: Type<T>): T => app!.get<T>(deliveriesToken(each, 'billing'));
  // What the relay of these channels pauses, and what the commands work with.
  expect(Reflect.get(app.get(LoginWatch), 'pauses')).toBe(ofBilling(ChannelPauses));
  const command = app.get<unknown, { operations(): Promise<DeliveryOperations> }>(StatsCommand);
  expect(await command.operations()).toBe(ofBilling(DeliveryOperations));
});

it('says which module a library misses', async () => {
  const builder = Test.createTestingModule({
    imports: [
      EmailModule.forRoot({
        deliveries: 'billing',
        url: 'smtp://127.0.0.1:9',
        from: { name: 'Example', address: 'hello@example.com' },
        kinds: [],
        templates: emptyFolder,
      }),
    ],
  });
  await expect(builder.compile()).rejects.toThrow(
    'EmailModule works with the DeliveriesModule named "billing", and it is not there. Import DeliveriesModule.forRoot({ name: "billing" })',
  );
});

it('has operations of its own in the OpenAPI document for each', async () => {
  await start([nameless, billing]);
  const { paths } = SwaggerModule.createDocument(app!, new DocumentBuilder().build());
  const operations = Object.values(paths).flatMap(({ get, post }) => [get, post].filter((each) => each !== undefined));
  const ids = operations.map(({ operationId }) => operationId!);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(
    expect.arrayContaining(['DeliveriesAdminController_list', 'DeliveriesAdminController_billing_list']),
  );
  expect(new Set(operations.flatMap(({ tags }) => tags))).toEqual(new Set(['deliveries', 'deliveries-billing']));
});

it.each([
  [
    'a channel of a module that is not there',
    [nameless, billing],
    [Stray],
    /Stray .* named "biling".* there are: .* named "billing"\. Correct/,
  ],
  ['two modules without a name', [nameless, nameless], [Letter], /imported twice without a name\. .* name: 'billing'/],
  ['two modules of one name', [billing, billing], [Invoice], /imported twice under the name "billing"/],
  [
    'the routes of two in one place',
    [nameless, billing].map((options) => ({ ...options, admin: { guards, path: 'ops' } })),
    [Letter, Invoice],
    /admin\.path is "ops" in two modules/,
  ],
  [
    'a name that fits no path',
    [{ ...billing, name: 'of/us' }],
    [Invoice],
    /name must be a letter .*; got "of\/us"\. Choose/,
  ],
])('does not start with %s', async (_what, modules, channels, message) => {
  await expect(start(modules, channels)).rejects.toThrow(message);
});

it('takes the name apart from the factory of forRootAsync, since tokens are made of it', async () => {
  const late = DeliveriesModule.forRootAsync({ name: 'billing', useFactory: () => ({ name: 'other' }) as never });
  const builder = Test.createTestingModule({
    imports: [TypeOrmModule.forRoot({ type: 'postgres', manualInitialization: true }), ScheduleModule.forRoot(), late],
  });
  await expect(builder.compile()).rejects.toThrow(/name must be known before the factory of forRootAsync runs/);
});
