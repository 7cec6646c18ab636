import { DiscoveryService } from '@nestjs/core';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { scriptedResolver } from 'nest-deliveries/outbound-http';
import { WebhookConfig, WebhookDestination, type WebhookOutbox } from 'nest-deliveries/webhooks';
import { ChannelRegistry, type Channel } from '../../libs/deliveries/src/channel/channel-registry';
import { gate, until } from '../faults/support/facts';
import { listen } from '../outbound-http/listen';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTestReceiver, type TestReceiver } from './support/receiver';
import { newKeyring, newSigningKey, startWebhooksApp, type WebhooksApp } from './support/webhooks-app';

let database: TestDatabase;
let app: WebhooksApp;
let receiver: TestReceiver;
const resolver = scriptedResolver();
const keyring = newKeyring();
const opened: WebhookOutbox[] = [];
const servers: { close(): unknown }[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  app = await startWebhooksApp(database.url, { keyring, http: { resolver } }, { run: [] });
});

beforeEach(async () => {
  receiver = await startTestReceiver();
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((outbox) => outbox.close()));
  for (const each of [receiver, ...servers.splice(0)]) each.close();
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

let namespaces = 0;

async function open(destination = WebhookDestination.loopbackTest(receiver.url)): Promise<WebhookOutbox> {
  const config = new WebhookConfig({ namespace: `n-${(namespaces += 1)}`, destination, quota: 10 });
  const outbox = await app.outboxes.open(config, newSigningKey(), { workers: 0 });
  opened.push(outbox);
  return outbox;
}

const enqueue = async (outbox: WebhookOutbox, key = 'k'): Promise<string> =>
  (await app.dataSource.transaction((tx) => outbox.enqueue(tx, key, 'a', Buffer.from('{}')))).id;

const channelOf = (outbox: WebhookOutbox): Channel =>
  app.module
    .get(ChannelRegistry)
    .all()
    .find(({ name }) => name === `webhooks.${outbox.namespace}`)!;

it('a namespace is worked on with a lease of 30 s, 10 s for a request, ten attempts and its window, which is a day', async () => {
  const outbox = await open();
  expect(channelOf(outbox)).toMatchObject({
    lease: 30_000,
    sendTimeout: 10_000,
    maxAttempts: 10,
    maxAge: 86_400_000,
    retention: { succeeded: 'manual', failed: 'manual', cancelled: 'manual' },
    revivesCancelled: false,
  });
  await enqueue(outbox);
  const [row] = await database.query<{ window: number }>(
    `SELECT extract(epoch FROM deadline - created_at)::float8 AS window FROM deliveries.deliveries WHERE channel = $1`,
    [channelOf(outbox).name],
  );
  expect(row!.window).toBeCloseTo(86_400, 0);
});

it('claims one event at a time, for 30 s', async () => {
  const outbox = await open();
  await enqueue(outbox, 'a');
  await enqueue(outbox, 'b');
  const [arrived, answered] = [gate(), gate()];
  receiver.answer(async () => {
    arrived.open();
    await answered.passed;
    return 200;
  });
  const dispatch = outbox.dispatchNext('w');
  await arrived.passed;
  const rows = await database.query<{ claimed: boolean; lease: number | null }>(
    `SELECT claim_token IS NOT NULL AS claimed, extract(epoch FROM lease_expires_at - clock_timestamp())::float8 AS lease
       FROM deliveries.deliveries WHERE channel = $1 ORDER BY created_at`,
    [channelOf(outbox).name],
  );
  answered.open();
  await dispatch;
  expect(rows.map(({ claimed }) => claimed)).toEqual([true, false]);
  expect(rows[0]!.lease).toBeGreaterThan(20);
  expect(rows[0]!.lease).toBeLessThanOrEqual(30);
});

it('four workers of two processes send each event once', async () => {
  const other = await startWebhooksApp(database.url, { keyring }, { run: [] });
  try {
    const key = newSigningKey();
    const destination = WebhookDestination.loopbackTest(receiver.url);
    const config = new WebhookConfig({ namespace: 'shared', destination, quota: 50 });
    const outbox = await app.outboxes.open(config, key, { workers: 2, concurrency: 5 });
    opened.push(outbox, await other.outboxes.open(config, key, { workers: 2, concurrency: 5 }));
    const ids = await app.dataSource.transaction(async (tx) => {
      const enqueued: string[] = [];
      for (let n = 0; n < 50; n += 1) enqueued.push((await outbox.enqueue(tx, `k-${n}`, 'a', Buffer.from('{}'))).id);
      return enqueued;
    });
    await until('all are accepted', async () => {
      const rows = await database.query(
        `SELECT FROM deliveries.deliveries WHERE channel = 'webhooks.shared' AND status = 'succeeded'`,
      );
      return rows.length === 50;
    });
    const arrived = receiver.arrivals.map(({ headers }) => headers['rullst-webhook-id']!);
    expect(arrived.toSorted()).toEqual(ids.toSorted());
  } finally {
    await Promise.all(opened.splice(0).map((each) => each.close()));
    await other.close();
  }
});

it('gives a name three seconds, a connection with its handshake three, and an answer what is left of the window', async () => {
  resolver.answer('silent.example.test', () => new Promise(() => undefined));
  const mute = createTcpServer((socket) => socket.on('error', () => undefined).resume());
  servers.push(mute);
  const port = await listen(mute);
  const outboxes = await Promise.all([
    open(WebhookDestination.approvedHttps('https://silent.example.test/')),
    open(WebhookDestination.loopbackTest(`https://127.0.0.1:${port}/`)),
    open(),
  ]);
  await Promise.all(outboxes.map((outbox) => enqueue(outbox)));
  await database.query(
    `UPDATE deliveries.deliveries SET deadline = clock_timestamp() + interval '2 s' WHERE channel = $1`,
    [channelOf(outboxes[2]).name],
  );
  receiver.answer(() => new Promise(() => undefined));
  const began = performance.now();
  const [resolving, connecting, answering] = await Promise.all(
    outboxes.map(async (outbox) => ({ ...(await outbox.dispatchNext('w')), after: performance.now() - began })),
  );
  expect(resolving).toMatchObject({ type: 'retryScheduled', code: 'timeout:resolve' });
  expect(connecting).toMatchObject({ type: 'retryScheduled', code: 'timeout:connect' });
  for (const { after } of [resolving!, connecting!]) {
    expect(after).toBeGreaterThan(2_900);
    expect(after).toBeLessThan(9_000);
  }
  // Nothing is left of it for another attempt.
  expect(answering).toMatchObject({ type: 'failed', code: 'timeout:response' });
  expect(answering!.after).toBeLessThan(6_000);
  expect(receiver.arrivals).toHaveLength(1);
});

it('a name that is not found, or has no address, and a port that nobody listens at are tried again', async () => {
  resolver.answer('empty.example.test', []);
  const destinations = [
    WebhookDestination.approvedHttps('https://unknown.example.test/'),
    WebhookDestination.approvedHttps('https://empty.example.test/'),
    WebhookDestination.loopbackTest('http://127.0.0.1:1/'),
  ];
  const outcomes: unknown[] = [];
  for (const destination of destinations) {
    const outbox = await open(destination);
    await enqueue(outbox);
    const { type, ...rest } = await outbox.dispatchNext('w');
    outcomes.push([type, (rest as { code: string }).code]);
  }
  expect(outcomes).toEqual([
    ['retryScheduled', 'dns:ENOTFOUND'],
    ['retryScheduled', 'dns:no-addresses'],
    ['retryScheduled', 'ECONNREFUSED'],
  ]);
});

it.each([
  [200, { type: 'accepted' }],
  [400, { type: 'failed', code: '400' }],
])('reads nothing of what a receiver says after %i, and keeps nothing of it', async (status, outcome) => {
  const canary = 'said-by-the-receiver';
  let written = 0;
  let ended: Promise<unknown> | undefined;
  const endless: Server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'x-canary': canary });
    ended = once(response, 'close');
    const more = (): void => {
      while (response.writable && response.write(canary.repeat(50))) written += 1_000;
    };
    response.on('drain', more).on('error', () => undefined);
    more();
  });
  servers.push(endless);
  const outbox = await open(WebhookDestination.loopbackTest(`http://127.0.0.1:${await listen(endless)}/`));
  await enqueue(outbox);
  expect(await outbox.dispatchNext('w')).toMatchObject(outcome);
  // The connection is given up at once, with what the kernel had taken by then.
  await ended;
  expect(written).toBeLessThan(20_000_000);
  const rows = await database.query(
    `SELECT to_jsonb(d)::text || coalesce((SELECT string_agg(to_jsonb(a)::text, '') FROM deliveries.delivery_attempts a), '') AS all
       FROM deliveries.deliveries d WHERE d.channel = $1`,
    [channelOf(outbox).name],
  );
  expect(rows).toHaveLength(1);
  expect(JSON.stringify(rows)).not.toContain(canary);
});

it('a stale worker whose event was cancelled meanwhile neither ends nor retries it', async () => {
  const outbox = await open();
  const id = await enqueue(outbox);
  receiver.answer(async () => {
    await outbox.cancel(id);
    return 503;
  });
  await expect(outbox.dispatchNext('stale')).rejects.toMatchObject({ code: 'WEBHOOK_CLAIM_LOST', messageId: id });
  const rows = await database.query(`SELECT status, claim_token FROM deliveries.deliveries WHERE channel = $1`, [
    channelOf(outbox).name,
  ]);
  expect(rows).toEqual([{ status: 'cancelled', claim_token: null }]);
});

it('no statement of ours takes longer than ten seconds', async () => {
  await database.query(`
    CREATE TABLE limits (what text, statement text, of_locks text);
    CREATE FUNCTION note_limits() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO limits VALUES (TG_TABLE_NAME || ' ' || TG_OP, current_setting('statement_timeout'), current_setting('lock_timeout'));
      RETURN coalesce(NEW, OLD);
    END $$;
    CREATE TRIGGER note BEFORE INSERT OR UPDATE OR DELETE ON deliveries.deliveries FOR EACH ROW EXECUTE FUNCTION note_limits();
    CREATE TRIGGER note BEFORE INSERT OR UPDATE ON deliveries.webhook_namespaces FOR EACH ROW EXECUTE FUNCTION note_limits();`);
  const noted = async (work: () => Promise<unknown>): Promise<unknown[]> => {
    await database.query('TRUNCATE limits');
    await work();
    return database.query('SELECT DISTINCT what, statement FROM limits ORDER BY 1');
  };
  let outbox!: WebhookOutbox;
  const opening = await noted(async () => void (outbox = await open()));
  expect(opening).toEqual([{ what: 'webhook_namespaces INSERT', statement: '10s' }]);
  // The caller's own transaction: what may wait there is the place in the quota.
  let id!: string;
  await noted(async () => void (id = await enqueue(outbox)));
  expect(await database.query(`SELECT of_locks FROM limits WHERE what = 'webhook_namespaces UPDATE'`)).toEqual([
    { of_locks: '10s' },
  ]);
  receiver.answer(() => 400);
  await outbox.dispatchNext('w');
  const update = [{ what: 'deliveries UPDATE', statement: '10s' }];
  expect(await noted(() => outbox.retryFailed(id))).toEqual(update);
  expect(await noted(() => outbox.cancel(id))).toEqual(update);
  await database.query(`UPDATE deliveries.deliveries SET created_at = created_at - interval '3 d'`);
  expect(await noted(() => outbox.purgeTerminal(new Date(Date.now() - 2 * 86_400_000)))).toEqual([
    { what: 'deliveries DELETE', statement: '10s' },
    { what: 'webhook_namespaces UPDATE', statement: '10s' },
  ]);
  await database.query(`
    DROP TRIGGER note ON deliveries.deliveries;
    DROP TRIGGER note ON deliveries.webhook_namespaces`);
});

it('the window begins when the place in the quota is taken, and not when it was waited for', async () => {
  const outbox = await open();
  const [taken, end] = [gate(), gate()];
  const first = app.dataSource.transaction(async (tx) => {
    await outbox.enqueue(tx, 'first', 'a', Buffer.from('{}'));
    taken.open();
    await end.passed;
  });
  await taken.passed;
  const second = enqueue(outbox, 'second');
  await until('the second waits', async () => {
    const rows = await database.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = $1`, [
      database.name,
    ]);
    return rows.length === 1;
  });
  const [{ now }] = (await database.query('SELECT clock_timestamp() AS now')) as [{ now: Date }];
  end.open();
  await Promise.all([first, second]);
  const [last] = await database.query<{ begins: Date }>(
    `SELECT max(deadline) - interval '1 d' AS begins FROM deliveries.deliveries WHERE channel = $1`,
    [channelOf(outbox).name],
  );
  expect(last!.begins.getTime()).toBeGreaterThanOrEqual(now.getTime());
});

it('the module by itself opens nothing, sends nothing and has no routes', async () => {
  const bare = await startWebhooksApp(database.url, {}, { run: [] });
  const before = await database.query('SELECT namespace FROM deliveries.webhook_namespaces');
  expect(
    bare.module
      .get(ChannelRegistry)
      .all()
      .map(({ name }) => name),
  ).toEqual([]);
  for (const { module } of [bare, app]) expect(module.get(DiscoveryService).getControllers()).toEqual([]);
  await bare.close();
  expect(await database.query('SELECT namespace FROM deliveries.webhook_namespaces')).toEqual(before);
});

it.each<[string, object, string]>([
  ['unknown options', { keyrings: 1 }, 'WebhooksModule: there is no option "keyrings"; the nearest is "keyring".'],
  ['those of endpoints', { endpoints: { message: 1 } }, 'there is no option "message"; the nearest is "messages".'],
  ['those of an outbox', { outboxes: [{ worker: 1 }] }, 'there is no option "worker"; the nearest is "workers".'],
  ['a keyring that is none', { keyring: {} }, 'keyring must be a WebhookKeyring.'],
  ['outboxes without a keyring', { outboxes: [{}] }, 'there is no keyring. Give keyring:'],
  ['endpoints without a keyring', { endpoints: {} }, 'there is no keyring. Give keyring:'],
])('the module refuses %s when it starts, and says what to write', async (_, options, words) => {
  await expect(startWebhooksApp(database.url, options, { run: [] })).rejects.toMatchObject({
    code: 'WEBHOOK_CONFIGURATION',
    message: expect.stringContaining(words),
  });
});
