import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { failed, retry, DeliveryCleaner, QueueCounter, DeliveriesHealthIndicator } from 'nest-deliveries';
import { WebhookConfig, WebhookDestination, WebhookEndpoints, WebhookReceipts } from 'nest-deliveries/webhooks';
import { Client } from 'pg';
import { createTestCa, type TestCa } from '../../src/demo/certificates';
import { until } from '../faults/support/facts';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { insertRows } from '../deliveries/ended-rows';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTestReceiver, type TestReceiver } from '../webhooks/support/receiver';
import { newKeyring, newSigningKey, startWebhooksApp, type WebhooksApp } from '../webhooks/support/webhooks-app';

const role = `application_${randomBytes(4).toString('hex')}`;
const page = readFileSync(join(__dirname, '../../docs/running.md'), 'utf8');
const grants = /<!-- rights:begin -->\s+```sql\n(.*?)```/s
  .exec(page)![1]!
  .replaceAll(/^--.*$/gm, '')
  .replaceAll('TO application', `TO ${role}`)
  .split(';')
  .map((grant) => grant.trim())
  .filter((grant) => grant !== '');

let database: TestDatabase;
let ca: TestCa;
let receiver: TestReceiver;
let app: WebhooksApp | undefined;
/** Every statement that the application ran, as it went to the server. */
const statements = new Set<string>();

beforeAll(async () => {
  database = await createTestDatabase();
  ca = await createTestCa();
  receiver = await startTestReceiver(await ca.issue({ hosts: ['127.0.0.1'] }));
  await database.query(`CREATE ROLE ${role} LOGIN PASSWORD 'of the test'`);
  for (const grant of grants) await database.query(grant);
});

afterAll(async () => {
  await app?.close();
  receiver.close();
  await database.query(`DROP OWNED BY ${role}`);
  await database.query(`DROP ROLE ${role}`);
  await database.drop();
});

const urlOfRole = (): string => {
  const url = new URL(database.url);
  url.username = role;
  url.password = 'of the test';
  return url.toString();
};

const letters = scriptedChannel({ name: 'letters', maxAge: '1d' }, () => undefined);
letters.on('fails', () => failed('no_such_person'));
letters.on('waits', () => retry(429, { retryAfter: '3600' }));

/** Whoever runs the application does all of this, sooner or later. */
async function doEverything({ module, recorder, operations, outboxes, dataSource }: WebhooksApp): Promise<void> {
  const cleaner = module.get(DeliveryCleaner);
  const draft = { destination: 'somebody', recipient: { id: 1 } };
  const record = (more: object): Promise<{ id: string }> =>
    recorder.transaction((tx) => recorder.enqueue(tx, letters.type, { ...draft, payload: {}, ...more }));
  const ended = (id: string, status: string): Promise<unknown> =>
    until(`${id} is ${status}`, async () => (await operations.show(id)).status === status);

  await ended((await record({})).id, 'succeeded');
  await ended((await record({ lane: 'one' })).id, 'succeeded');
  await record({ dedupeKey: 'once' });
  await record({ dedupeKey: 'once' });
  await recorder.transaction((tx) => recorder.record(tx, { type: 'nobody_listens', payload: {} }));
  const head = await record({ orderingKey: 'key', payload: { script: 'fails' } });
  const behind = await record({ orderingKey: 'key' });
  await ended(head.id, 'failed');
  await operations.retry(head.id, { actor: 'test', restartAgeBehind: true });
  await ended(head.id, 'failed');
  await operations.cancel(head.id, { actor: 'test' });
  await ended(behind.id, 'succeeded');
  const { id: waiting } = await record({ lane: 'two', payload: { script: 'waits' } });
  await until('its lane is held', async () => (await operations.pauses()).some(({ lane }) => lane === 'two'));
  await operations.cancelMatching({ ids: [waiting] }, { actor: 'test' });
  await operations.retryMatching({ ids: [waiting] }, { actor: 'test', spreadOver: '1h' });
  await operations.pause({ channel: 'letters' }, { actor: 'test' });
  await operations.resume({ channel: 'letters' }, { actor: 'test' });
  await Promise.all([
    operations.list({}),
    operations.stats(),
    operations.audit(),
    operations.count({ channel: 'letters' }),
  ]);
  await operations.throughput();
  await recorder.transaction((tx) => operations.purge(tx, letters.type, { recipient: { id: 2 } }));

  await insertRows(database, { count: 2, channel: 'letters', settledAgo: "interval '60 days'" });
  await insertRows(database, {
    count: 3,
    channel: 'letters',
    key: "'old'",
    status: 'failed',
    settledAgo: "interval '60 days'",
    error: "'gone'",
  });
  await database.query(`UPDATE deliveries.events SET occurred_at = occurred_at - interval '500 days' WHERE audit`);
  expect((await cleaner.runOnce()).complete).toBe(true);
  await database.query(`UPDATE deliveries.delivery_removals SET removed_at = removed_at - interval '60 days'`);
  await database.query(
    `UPDATE deliveries.delivery_orderings SET last_recorded_at = last_recorded_at - interval '60 days'`,
  );
  expect((await cleaner.runOnce()).complete).toBe(true);
  await module.get(QueueCounter).runOnce();
  expect(await module.get(DeliveriesHealthIndicator).readiness()).toMatchObject({ deliveries: { status: 'up' } });

  const namespace = new WebhookConfig({
    namespace: 'shop',
    destination: WebhookDestination.loopbackTest(receiver.url, ca.certificate),
    quota: 9,
  });
  const outbox = await outboxes.open(namespace, newSigningKey(), { workers: 0 });
  const enqueue = (key: string): Promise<unknown> =>
    dataSource.transaction((tx) => outbox.enqueue(tx, key, 'sale', Buffer.from('{}')));
  await enqueue('one');
  await enqueue('one');
  expect(await outbox.dispatchNext('test')).toMatchObject({ type: 'accepted' });
  await outbox.failed();
  await database.query(
    `UPDATE deliveries.deliveries SET created_at = created_at - interval '30 days' WHERE channel = 'webhooks.shop'`,
  );
  expect(await outbox.purgeTerminal(new Date(Date.now() - 8 * 86_400_000))).toBe(1);
  const endpoints = module.get(WebhookEndpoints);
  const { endpoint } = await endpoints.register({ tenant: 't', url: receiver.url, kinds: ['*'] });
  await endpoints.list('t');
  await endpoints.update('t', endpoint.id, { kinds: ['sale'] });
  await dataSource.transaction((tx) => endpoints.publish(tx, { tenant: 't', kind: 'sale', body: Buffer.from('{}') }));
  await until('the endpoint has it', () => receiver.arrivals.length === 2);
  await endpoints.disable('t', endpoint.id);
  await endpoints.enable('t', endpoint.id);
  await endpoints.remove('t', endpoint.id);
  await dataSource.transaction((tx) => module.get(WebhookReceipts).isFirst(tx, { source: 's', id: 'i' }));
}

/** Writes down what the application sends to the server. */
function listen(): void {
  const query = Reflect.get(Client.prototype, 'query') as (this: Client, ...given: unknown[]) => unknown;
  const noting = function (this: Client, ...given: unknown[]): unknown {
    const [what] = given as [string | { text?: string } | undefined];
    const text = typeof what === 'string' ? what : what?.text;
    if (this.user === role && text !== undefined) statements.add(text);
    return query.apply(this, given);
  };
  jest.spyOn(Client.prototype, 'query').mockImplementation(noting);
}

test('the documented rights are enough for everything that an application does', async () => {
  listen();
  app = await startWebhooksApp(
    urlOfRole(),
    { keyring: newKeyring(), http: { testMode: { ca: ca.certificate } }, endpoints: {} },
    { migrate: false, cleanUpInterval: false },
    [letters.type],
  );
  await doEverything(app);
  await app.close();
  app = undefined;
  expect(statements.size).toBeGreaterThan(50);
}, 30_000);

test('and none of them could be left out', async () => {
  const [server] = await database.query<{ version: number }>(
    `SELECT current_setting('server_version_num')::integer AS version`,
  );
  // Before 16, EXPLAIN has to be given the parameters of a statement.
  if (server!.version < 160_000) return;
  const granted = await database.query<{ right: string; table: string }>(
    `SELECT privilege_type AS right, table_name AS table FROM information_schema.role_table_grants WHERE grantee = $1`,
    [role],
  );
  expect(granted.length).toBeGreaterThan(20);
  const spare: string[] = [];
  for (const { right, table } of granted) {
    if (!(await isNeeded(right, table))) spare.push(`${right} on ${table}`);
  }
  expect(spare).toEqual([]);
  // A right that nobody was given: what says “needed” of this one says it of all.
  expect(await isNeeded('TRUNCATE', 'deliveries')).toBe(false);
});

/** Whether some statement is refused without it. */
async function isNeeded(right: string, table: string): Promise<boolean> {
  const about = [...statements].filter(
    (text) => text.includes(table) && /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(text),
  );
  // PostgreSQL looks at the rights of a statement before it explains it; those of a trigger's it sees when the trigger runs.
  const tried = [...about.map((text) => `EXPLAIN (GENERIC_PLAN) ${text}`), 'DELETE FROM deliveries.deliveries'];
  await database.query('BEGIN');
  try {
    await database.query(`REVOKE ${right} ON deliveries.${table} FROM ${role}`);
    await database.query(`SET LOCAL ROLE ${role}`);
    for (const text of tried) if ((await refusalOf(text)) === '42501') return true;
    return false;
  } finally {
    await database.query('ROLLBACK');
  }
}

/** SQLSTATE with which a statement is refused in the open transaction, which goes on. */
async function refusalOf(text: string): Promise<string | undefined> {
  await database.query('SAVEPOINT before');
  try {
    await database.query(text);
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code;
  } finally {
    await database.query('ROLLBACK TO before');
  }
}

test('with them, nobody changes or drops a table', async () => {
  const changes = [
    'DROP TABLE deliveries.delivery_pauses',
    'ALTER TABLE deliveries.deliveries ADD COLUMN secret text',
    'TRUNCATE deliveries.delivery_removals',
    'CREATE TABLE deliveries.mine (id integer)',
    "UPDATE deliveries.schema_migrations SET name = 'mine'",
    'DROP SCHEMA deliveries CASCADE',
  ];
  await database.query('BEGIN');
  await database.query(`SET LOCAL ROLE ${role}`);
  const refusals = [];
  for (const change of changes) refusals.push(await refusalOf(change));
  await database.query('ROLLBACK');
  expect(refusals).toEqual(changes.map(() => '42501'));
});
