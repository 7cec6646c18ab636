import 'reflect-metadata';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  channelContract,
  DeliveriesTester,
  DeliveriesTestingModule,
  httpReceiver,
  startReceiver,
  type ScriptedReceiver,
} from 'nest-deliveries/testing';
import { AccountsService } from './accounts.service';
import { AppModule } from './app.module';
import { WelcomeChannel } from './welcome.channel';

let crm: ScriptedReceiver;
let app: TestingModule;
let deliveries: DeliveriesTester;

before(async () => {
  crm = await startReceiver();
  process.env.CRM_URL = crm.url;
  app = await Test.createTestingModule({ imports: [AppModule, DeliveriesTestingModule] }).compile();
  await app.init();
  deliveries = app.get(DeliveriesTester);
});

after(async () => {
  // What did not start has nothing to close. A receiver that stays open keeps Jest from ending.
  await app?.close();
  await crm?.close();
});

test('an account is welcomed, and only once it is there', async () => {
  const account = await app.get(AccountsService).create('ada');
  const [welcome] = await deliveries.recorded(WelcomeChannel, { payload: { accountId: account.id } });
  assert.equal(welcome?.status, 'pending');

  await deliveries.drain();
  assert.deepEqual(crm.requests.at(-1)?.json(), { accountId: account.id });
});

test('a CRM that is down for an hour gets it later', async () => {
  crm.always(503);
  const account = await app.get(AccountsService).create('grace');
  const tried = await deliveries.drain({ until: '1h' });
  assert.ok(tried.length > 5 && tried.every(({ outcome, error }) => outcome === 'retried' && error === '503'));

  crm.always(204);
  await deliveries.settled();
  const [welcome] = await deliveries.recorded(WelcomeChannel, { payload: { accountId: account.id } });
  assert.equal(welcome?.status, 'succeeded');
});

test('one that is down for longer than a day does not', async () => {
  crm.always(503);
  await app.get(AccountsService).create('edsger');
  const tried = await deliveries.drain({ until: '2d' });
  assert.deepEqual([tried.at(-1)?.outcome, tried.at(-1)?.error], ['failed', '503']);
});

const contract = channelContract({
  tester: () => deliveries,
  channel: WelcomeChannel,
  record: (tx, { recorder }) =>
    recorder.record(tx, { type: 'account_created', payload: { accountId: crypto.randomUUID() } }),
  receiver: httpReceiver(
    () => crm,
    ({ headers }) => headers['idempotency-key'] as string | undefined,
  ),
});
for (const { name, run } of contract) test(name, run);
