import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  DedupeConflictError,
  DeliveriesHealthIndicator,
  DeliveryCleaner,
  draftsFrom,
  failed,
  InvalidDraftError,
  QueueCounter,
  retry,
  type DraftQuery,
} from 'nest-deliveries';
import { WebhookConfig, WebhookDestination, WebhookEndpoints, WebhookReceipts } from 'nest-deliveries/webhooks';
import { Client } from 'pg';
import { createTestCa, type TestCa } from '../../src/demo/certificates';
import { until } from '../faults/support/facts';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { insertRows } from '../deliveries/ended-rows';
import { startDeliveriesApp, type DeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTestReceiver, type TestReceiver } from '../webhooks/support/receiver';
import { newKeyring, newSigningKey, startWebhooksApp, type WebhooksApp } from '../webhooks/support/webhooks-app';

/** Roles are the server's, whose tests may run beside these. */
const suffix = randomBytes(4).toString('hex');
const role = `application_${suffix}`;
const webRole = `web_${suffix}`;
const page = readFileSync(join(__dirname, '../../docs/running.md'), 'utf8');

/** The statements of a block of the page, for a role. */
const grantsOf = (marker: string, documented: string, name: string): string[] =>
  new RegExp(`<!-- ${marker}:begin -->\\s+\`\`\`sql\\n(.*?)\`\`\``, 's')
    .exec(page)![1]!
    .replaceAll(/^--.*$/gm, '')
    .replaceAll(`TO ${documented}`, `TO ${name}`)
    .split(';')
    .map((grant) => grant.trim())
    .filter((grant) => grant !== '');

let database: TestDatabase;
let ca: TestCa;
let receiver: TestReceiver;
let app: WebhooksApp | undefined;
/** Every statement that each role ran, as it went to the server. */
const statements = new Map([role, webRole].map((name) => [name, new Set<string>()]));

beforeAll(async () => {
  database = await createTestDatabase();
  ca = await createTestCa();
  receiver = await startTestReceiver(await ca.issue({ hosts: ['127.0.0.1'] }));
  for (const name of [role, webRole]) await database.query(`CREATE ROLE ${name} LOGIN PASSWORD 'of the test'`);
  await giveAll(grantsOf('rights', 'application', role));
  listen();
});

async function giveAll(grants: readonly string[]): Promise<void> {
  for (const each of grants) await database.query(each);
}

afterAll(async () => {
  await app?.close();
  receiver.close();
  for (const name of [role, webRole]) {
    await database.query(`DROP OWNED BY ${name}`);
    await database.query(`DROP ROLE ${name}`);
  }
  await database.drop();
});

const urlOf = (name: string): string => {
  const url = new URL(database.url);
  url.username = name;
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

/** Writes down what the roles send to the server. */
function listen(): void {
  const query = Reflect.get(Client.prototype, 'query') as (this: Client, ...given: unknown[]) => unknown;
  const noting = function (this: Client, ...given: unknown[]): unknown {
    const [what] = given as [string | { text?: string } | undefined];
    const text = typeof what === 'string' ? what : what?.text;
    if (text !== undefined) statements.get(this.user ?? '')?.add(text);
    return query.apply(this, given);
  };
  jest.spyOn(Client.prototype, 'query').mockImplementation(noting);
}

test('the documented rights are enough for everything that an application does', async () => {
  app = await startWebhooksApp(
    urlOf(role),
    { keyring: newKeyring(), http: { testMode: { ca: ca.certificate } }, endpoints: {} },
    { migrate: false, cleanUpInterval: false },
    [letters.type],
  );
  await doEverything(app);
  await app.close();
  app = undefined;
  expect(statements.get(role)!.size).toBeGreaterThan(50);
}, 30_000);

/** Whether rights can be asked for one by one: before 16, EXPLAIN has to be given the parameters of a statement. */
async function canExplain(): Promise<boolean> {
  const [server] = await database.query<{ version: number }>(
    `SELECT current_setting('server_version_num')::integer AS version`,
  );
  return server!.version >= 160_000;
}

/** One right on a table, or on a column of it. */
interface Right {
  readonly right: string;
  readonly table: string;
}

/** Those that the statements give, each by itself. */
const rightsIn = (grants: readonly string[]): Right[] =>
  grants.flatMap((text) => {
    const [, rights, tables] = /^GRANT (.+) ON (deliveries\..+) TO/.exec(text) ?? [];
    if (rights === undefined || tables === undefined) return [];
    const single = [...rights.matchAll(/(\w+)(?: \(([^)]+)\))?/g)].flatMap(([, right, columns]) =>
      columns === undefined ? [right!] : columns.split(', ').map((column) => `${right} (${column})`),
    );
    return tables.split(', ').flatMap((table) => single.map((right) => ({ right, table: table.split('.')[1]! })));
  });

/** Those that the role does not need. */
async function spareOf(name: string, rights: readonly Right[]): Promise<string[]> {
  if (!(await canExplain())) return [];
  const spare: string[] = [];
  for (const each of rights) if (!(await isNeeded(name, each))) spare.push(`${each.right} on ${each.table}`);
  return spare;
}

test('and none of them could be left out', async () => {
  const rights = rightsIn(grantsOf('rights', 'application', role));
  expect(rights.length).toBeGreaterThan(20);
  expect(await spareOf(role, rights)).toEqual([]);
  // A right that nobody was given: what says “needed” of this one says it of all.
  expect(await isNeeded(role, { right: 'TRUNCATE', table: 'deliveries' })).toBe(false);
});

/** Whether some statement is refused without it. */
async function isNeeded(name: string, { right, table }: Right): Promise<boolean> {
  const about = [...statements.get(name)!].filter(
    (text) => text.includes(table) && /^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(text),
  );
  // PostgreSQL looks at the rights of a statement before it explains it; those of a trigger's it sees when the trigger runs.
  const tried = [...about.map((text) => `EXPLAIN (GENERIC_PLAN) ${text}`), 'DELETE FROM deliveries.deliveries'];
  await database.query('BEGIN');
  try {
    const before = await refusedTo(name, tried);
    await database.query(`REVOKE ${right} ON deliveries.${table} FROM ${name}`);
    const after = await refusedTo(name, tried);
    return after > before;
  } finally {
    await database.query('ROLLBACK');
  }
}

/** How many of the statements the role has no right to. */
async function refusedTo(name: string, tried: readonly string[]): Promise<number> {
  await database.query(`SET LOCAL ROLE ${name}`);
  let refused = 0;
  for (const text of tried) if ((await refusalOf(text)) === '42501') refused += 1;
  await database.query('RESET ROLE');
  return refused;
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

describe('a role that only records', () => {
  const draft = { destination: 'somebody', recipient: { id: 1 }, payload: {} };
  const ordered = { ...draft, orderingKey: 'key' };
  const once = (dedupeKey: string, n: number): object => ({ ...draft, dedupeKey, payload: { n } });
  const everybody = (lane: string): DraftQuery =>
    draftsFrom(`SELECT 'one of many' AS destination, '{}'::jsonb AS payload, $1::text AS lane`, [lane]);
  let web: DeliveriesApp;

  beforeAll(async () => {
    await giveAll(grantsOf('rights-of-recording', 'web', webRole));
    const options = { workers: 0, cleanUpInterval: false, metrics: false, migrate: false } as const;
    web = await startDeliveriesApp(urlOf(webRole), [letters.type], options);
  });

  afterAll(() => web.close());

  const enqueue = (given: object): Promise<unknown> =>
    web.recorder.transaction((tx) => web.recorder.enqueue(tx, letters.type, given as never));

  test('can, with the documented rights, and none of them could be left out', async () => {
    await web.recorder.transaction((tx) => web.recorder.record(tx, { type: 'nobody_listens', payload: {} }));
    for (const given of [draft, [draft, draft], ordered, [ordered, draft]]) await enqueue(given);
    await web.dataSource.transaction((tx) => web.recorder.enqueue(tx, letters.type, ordered as never));
    const rights = rightsIn(grantsOf('rights-of-recording', 'web', webRole));
    expect(rights.length).toBeGreaterThan(8);
    expect(await spareOf(webRole, rights)).toEqual([]);
  });

  test('sees and changes nothing', async () => {
    const looks = [
      'SELECT id FROM deliveries.deliveries',
      'SELECT payload FROM deliveries.events',
      'SELECT FROM deliveries.delivery_attempts',
      `UPDATE deliveries.deliveries SET status = 'pending'`,
      'DELETE FROM deliveries.deliveries',
      'DELETE FROM deliveries.events',
      'INSERT INTO deliveries.delivery_pauses (channel) SELECT NULL',
      'DELETE FROM deliveries.delivery_orderings',
    ];
    await database.query('BEGIN');
    await database.query(`SET LOCAL ROLE ${webRole}`);
    const refusals = [];
    for (const look of looks) refusals.push([look, await refusalOf(look)]);
    await database.query('ROLLBACK');
    expect(refusals).toEqual(looks.map((look) => [look, '42501']));
  });

  test('can compare and take back with more rights, and none of these could be left out; it still sees no recipient', async () => {
    await expect(enqueue(once('first', 1))).rejects.toMatchObject({ code: '42501' });
    await giveAll(grantsOf('rights-of-comparing', 'web', webRole));
    for (const given of [once('first', 1), once('first', 1)]) await enqueue(given);
    const several = [once('another', 1), once('first', 2)];
    await expect(
      web.dataSource.transaction((tx) => web.recorder.enqueue(tx, letters.type, several as never)),
    ).rejects.toThrow(DedupeConflictError);
    await enqueue(everybody('all'));
    await expect(enqueue(everybody('too long'.repeat(100)))).rejects.toThrow(InvalidDraftError);
    const rights = rightsIn(grantsOf('rights-of-comparing', 'web', webRole));
    expect(rights.length).toBeGreaterThan(10);
    expect(await spareOf(webRole, rights)).toEqual([]);
    await database.query('BEGIN');
    await database.query(`SET LOCAL ROLE ${webRole}`);
    expect(await refusalOf('SELECT recipient FROM deliveries.deliveries')).toBe('42501');
    expect(await refusalOf(`UPDATE deliveries.deliveries SET status = 'pending'`)).toBe('42501');
    await database.query('ROLLBACK');
  });
});
