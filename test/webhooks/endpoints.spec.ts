import {
  StandardPublicKey,
  StandardSecret,
  verifyStandard,
  WebhookEndpoints,
  WebhookSignature,
  WebhookSigningKey,
  type NewEndpoint,
  type ShownSecrets,
  type WebhookEndpoint,
} from 'nest-deliveries/webhooks';
import { DeliveryChannel, succeeded, type DeliveryEvent } from 'nest-deliveries';
import { Webhook } from 'standardwebhooks';
import { createTestCa, type TestCa, type TestCertificate } from '../../src/demo/certificates';
import { ChannelRegistry } from '../../libs/deliveries/src/channel/channel-registry';
import { judgeFailure } from '../../libs/webhooks/src/endpoint/judge-failure';
import { until } from '../faults/support/facts';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTestReceiver, type Arrival, type TestReceiver } from './support/receiver';
import { newKeyring, startWebhooksApp, type WebhooksApp } from './support/webhooks-app';

/** What the application tells its tenants' administrators about. */
@DeliveryChannel({ name: 'notices', maxAge: '1d' })
class Notices {
  readonly events: DeliveryEvent[] = [];

  deliveries(event: DeliveryEvent): [] {
    if (event.type.startsWith('webhook_endpoint')) this.events.push(event);
    return [];
  }

  send(): Promise<ReturnType<typeof succeeded>> {
    return Promise.resolve(succeeded());
  }
}

let database: TestDatabase;
let app: WebhooksApp;
let endpoints: WebhookEndpoints;
let certificate: TestCertificate;
let ca: TestCa;
const receivers: TestReceiver[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  ca = await createTestCa();
  certificate = await ca.issue({ hosts: ['127.0.0.1'] });
  app = await startWebhooksApp(
    database.url,
    {
      keyring: newKeyring(),
      http: { testMode: { ca: ca.certificate } },
      endpoints: {
        messages: ({ type, payload }) =>
          type === 'account_created'
            ? [{ tenant: (payload as { tenant: string }).tenant, kind: type, body: Buffer.from('{"new": true}') }]
            : [],
      },
    },
    {},
    [Notices],
  );
  endpoints = app.module.get(WebhookEndpoints);
});

afterEach(() => {
  for (const receiver of receivers.splice(0)) receiver.close();
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

let tenants = 0;
const newTenant = (): string => `tenant-${(tenants += 1)}`;

interface Registered {
  readonly endpoint: WebhookEndpoint;
  readonly secrets: ShownSecrets;
  readonly receiver: TestReceiver;
}

async function register(given: Partial<NewEndpoint> = {}): Promise<Registered> {
  const receiver = await startTestReceiver(certificate);
  receivers.push(receiver);
  const { endpoint, secrets } = await endpoints.register({
    tenant: newTenant(),
    url: receiver.url,
    kinds: ['*'],
    ...given,
  });
  return { endpoint, secrets, receiver };
}

const publish = (tenant: string, kind = 'order.paid', body = '{"n":1}'): Promise<string[]> =>
  app.dataSource.transaction((tx) => endpoints.publish(tx, { tenant, kind, body: Buffer.from(body) }));

const arrived = (receiver: TestReceiver, count = 1): Promise<Arrival> =>
  until(`${count} have arrived`, () => receiver.arrivals[count - 1]);

const uuidOf = (id: string): string => id.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

const stateOf = async (id: string): Promise<unknown> =>
  (await database.query('SELECT status, last_error FROM deliveries.deliveries WHERE id = $1', [uuidOf(id)]))[0];

const untilState = (id: string, status: string, error: string | null): Promise<unknown> =>
  until(`${id} is ${status}`, async () => {
    const state = (await stateOf(id)) as { status: string; last_error: string | null };
    return state.status === status && state.last_error === error;
  });

const noticesOf = ({ id }: WebhookEndpoint): unknown[] =>
  app.module
    .get(Notices)
    .events.filter(({ payload }) => (payload as { endpointId: string }).endpointId === id)
    .map(({ type, payload }) => [type, (payload as { reason?: string }).reason]);

it('an event goes to each endpoint of its tenant that is told of its kind, signed with that endpoint’s own secrets', async () => {
  const tenant = newTenant();
  const all = await register({ tenant, schemes: ['standard', 'ed25519', 'rullst-v1'] });
  const some = await register({ tenant, kinds: ['account_created', 'other'] });
  const none = await register({ tenant, kinds: ['other'] });
  const stranger = await register();
  await app.dataSource.transaction((tx) =>
    app.recorder.record(tx, { type: 'account_created', payload: { tenant, accountId: 7 } }),
  );
  const [first, second] = [await arrived(all.receiver), await arrived(some.receiver)];
  const now = Date.now();
  expect(new Webhook(all.secrets.secret!).verify(first.body.toString(), first.headers)).toEqual({ new: true });
  verifyStandard([new StandardPublicKey(all.secrets.publicKey!)], first.rawHeaders, first.body, now, 5);
  const { keyId, signingKey } = all.secrets;
  new WebhookSigningKey(keyId!, signingKey!).verify(
    WebhookSignature.fromRawHeaders(first.rawHeaders),
    first.body,
    now,
    5,
  );
  expect(Object.keys(some.secrets)).toEqual(['secret']);
  expect(first.body.toString()).toBe('{"new": true}');
  expect(new Webhook(some.secrets.secret!).verify(second.body.toString(), second.headers)).toEqual({ new: true });
  expect(() => new Webhook(all.secrets.secret!).verify(second.body.toString(), second.headers)).toThrow(
    'No matching signature found',
  );
  // Ids differ between endpoints: each may fail and be retried by itself.
  expect(first.headers['webhook-id']).not.toBe(second.headers['webhook-id']);
  expect([none.receiver.arrivals, stranger.receiver.arrivals]).toEqual([[], []]);
  const rows = await database.query(
    `SELECT lane, destination, recipient FROM deliveries.deliveries WHERE channel = 'webhooks' AND lane = $1`,
    [all.endpoint.id],
  );
  expect(rows).toEqual([
    {
      lane: all.endpoint.id,
      destination: `endpoint ${all.endpoint.id}`,
      recipient: { tenant, endpointId: all.endpoint.id },
    },
  ]);
});

it('a secret that is rotated stays good for the overlap: Standard Webhooks carries both signatures, rullst-v1 the old one until then', async () => {
  const { endpoint, secrets, receiver } = await register({ schemes: ['standard', 'rullst-v1'] });
  const { tenant, id } = endpoint;
  const next = await endpoints.rotateSecret(tenant, id, { overlap: 3_600_000 });
  expect(next.secret).not.toBe(secrets.secret);
  await publish(tenant);
  const during = await arrived(receiver);
  for (const { secret } of [secrets, next]) new Webhook(secret!).verify(during.body.toString(), during.headers);
  expect(during.headers['rullst-webhook-key-id']).toBe(secrets.keyId);
  // The overlap is over: by the data, since nobody waits an hour.
  const last = await endpoints.rotateSecret(tenant, id, { overlap: 0 });
  await publish(tenant);
  const after = await arrived(receiver, 2);
  const accepts = (text: string): boolean => {
    try {
      verifyStandard([new StandardSecret(text)], after.rawHeaders, after.body, Date.now(), 5);
      return true;
    } catch {
      return false;
    }
  };
  // The one before the last was cut off at once; the first has its hour still.
  expect([secrets, next, last].map(({ secret }) => accepts(secret!))).toEqual([true, false, true]);
  await expect(endpoints.rotateSecret(tenant, id, { overlap: -1 })).rejects.toMatchObject({ code: 'WEBHOOK_INPUT' });
});

it('an endpoint has five secrets at most that are still good', async () => {
  const { endpoint } = await register();
  for (let count = 1; count < 5; count += 1) await endpoints.rotateSecret(endpoint.tenant, endpoint.id);
  await expect(endpoints.rotateSecret(endpoint.tenant, endpoint.id)).rejects.toMatchObject({ code: 'WEBHOOK_STATE' });
});

it('a test message is signed and sent; to an endpoint that is disabled it is refused', async () => {
  const { endpoint, secrets, receiver } = await register();
  const id = await endpoints.sendTest(endpoint.tenant, endpoint.id);
  const { headers, body } = await arrived(receiver);
  expect(new Webhook(secrets.secret!).verify(body.toString(), headers)).toEqual({ test: true });
  expect(headers['webhook-id']).toBe(id);
  await endpoints.disable(endpoint.tenant, endpoint.id);
  await expect(endpoints.sendTest(endpoint.tenant, endpoint.id)).rejects.toMatchObject({ code: 'WEBHOOK_STATE' });
});

it('BL-055: what waits for an endpoint that is disabled or deleted ends with the reason, the others go on; by range it is retried after', async () => {
  const tenant = newTenant();
  const dead = await register({ tenant, kinds: ['dead'] });
  const alive = await register({ tenant, kinds: ['alive'] });
  dead.receiver.answer(() => 503);
  const waiting = (await Promise.all(Array.from({ length: 50 }, () => publish(tenant, 'dead')))).flat();
  await until('all were tried', () => dead.receiver.arrivals.length >= 50);
  await endpoints.disable(tenant, dead.endpoint.id);
  for (let count = 0; count < 10; count += 1) await publish(tenant, 'alive');
  await arrived(alive.receiver, 10);
  await until('each has ended', async () => {
    // Each time: an outcome that was on its way when the endpoint was disabled asks for a wait of its own.
    await database.query(
      `UPDATE deliveries.deliveries SET due_at = clock_timestamp()
        WHERE lane = $1 AND status = 'pending' AND claim_token IS NULL`,
      [dead.endpoint.id],
    );
    const rows = await database.query(
      `SELECT FROM deliveries.deliveries WHERE lane = $1 AND status = 'failed' AND last_error = 'endpoint_disabled'`,
      [dead.endpoint.id],
    );
    return rows.length === 50;
  });
  const tries = dead.receiver.arrivals.length;
  const now = { actor: 'ada', asOf: new Date() };
  await expect(endpoints.retryFailed(tenant, dead.endpoint.id, {}, now)).rejects.toMatchObject({
    code: 'WEBHOOK_STATE',
  });

  // It moves, and has a new secret: where a message goes, and what it is signed with, is decided when it is sent.
  const moved = await startTestReceiver(certificate);
  receivers.push(moved);
  await endpoints.update(tenant, dead.endpoint.id, { url: moved.url });
  const { secret } = await endpoints.rotateSecret(tenant, dead.endpoint.id, { overlap: 0 });
  await endpoints.enable(tenant, dead.endpoint.id);
  const half = waiting.slice(0, 20).map(uuidOf);
  await database.query(
    `UPDATE deliveries.deliveries SET created_at = created_at - interval '1 d' WHERE id = ANY ($1)`,
    [half],
  );
  const range = { until: new Date(Date.now() - 43_200_000) };
  const count = await endpoints.countFailed(tenant, dead.endpoint.id, range);
  expect(count).toMatchObject({ count: 20, capped: false });
  const uncounted = { actor: 'ada' } as { actor: string; asOf: Date };
  await expect(endpoints.retryFailed(tenant, dead.endpoint.id, range, uncounted)).rejects.toMatchObject({
    code: 'WEBHOOK_INPUT',
    subject: 'asOf',
  });
  const report = await endpoints.retryFailed(tenant, dead.endpoint.id, range, { actor: 'ada', asOf: count.asOf });
  expect(report).toMatchObject({ changed: 20, busy: 0 });
  await arrived(moved, 20);
  expect(moved.arrivals.map(({ headers }) => uuidOf(headers['webhook-id']!)).toSorted()).toEqual(half.toSorted());
  for (const { headers, body } of moved.arrivals) new Webhook(secret!).verify(body.toString(), headers);
  expect(dead.receiver.arrivals).toHaveLength(tries);
  expect(await endpoints.countFailed(tenant, dead.endpoint.id)).toMatchObject({ count: 30 });

  await endpoints.disable(tenant, dead.endpoint.id);
  const [last] = await publish(tenant, 'dead');
  await untilState(last!, 'failed', 'endpoint_disabled');
  await endpoints.remove(tenant, dead.endpoint.id);
  await app.operations.retry(uuidOf(last!), { actor: 'ada' });
  await untilState(last!, 'failed', 'endpoint_deleted');
});

it('an endpoint that never answers, with hundreds waiting, leaves half of the slots to the others', async () => {
  const dead = await register();
  const others = await Promise.all(Array.from({ length: 20 }, () => register()));
  dead.receiver.answer(() => new Promise(() => undefined));
  const [before] = await app.dataSource.transaction(async (tx) => {
    const tell = ({ endpoint: { tenant } }: Registered): Promise<string[]> =>
      endpoints.publish(tx, { tenant, kind: 'a', body: Buffer.from('{}') });
    for (let n = 0; n < 300; n += 1) await tell(dead);
    for (const other of others) await tell(other);
    return tx.query<[{ now: string }]>('SELECT clock_timestamp()::text AS now');
  });
  // Nothing that it was sent has been answered: a slot that it has is gone until the attempt is given up.
  await Promise.all(others.map(({ receiver }) => arrived(receiver)));
  const { concurrency, workers, lane, lease } = app.module
    .get(ChannelRegistry)
    .all()
    .find(({ name }) => name === 'webhooks')!;
  // It may have them all when nobody else has waited for two seconds, which on a slow machine comes before this look.
  const claimed = await database.query(
    `SELECT FROM deliveries.deliveries WHERE lane = $1 AND claim_token IS NOT NULL
        AND lease_expires_at - $2::float8 * interval '1 ms' < $3::timestamptz + interval '2 s'`,
    [dead.endpoint.id, lease, before.now],
  );
  expect(claimed.length).toBeLessThanOrEqual(concurrency * workers * lane.share);
  await endpoints.remove(dead.endpoint.tenant, dead.endpoint.id);
  await database.query('DELETE FROM deliveries.deliveries WHERE lane = $1', [dead.endpoint.id]);
});

it('410 disables an endpoint at once, and says so', async () => {
  const { endpoint, receiver } = await register();
  receiver.answer(() => 410);
  const [id] = await publish(endpoint.tenant);
  await untilState(id!, 'failed', '410');
  expect(await endpoints.get(endpoint.tenant, endpoint.id)).toMatchObject({
    status: 'disabled',
    disabledReason: 'gone',
    url: receiver.url,
  });
  expect(noticesOf(endpoint)).toEqual([['webhook_endpoint_disabled', 'gone']]);
  await endpoints.enable(endpoint.tenant, endpoint.id);
  receiver.answer(() => 200);
  const [next] = await publish(endpoint.tenant);
  await untilState(next!, 'succeeded', null);
});

it('days without a success disable an endpoint, not failures, and its owner is warned before; a success makes up for all of it', async () => {
  const { endpoint, receiver } = await register();
  const { tenant, id } = endpoint;
  let answer = 500;
  receiver.answer(() => answer);
  const failingFor = async (days: number): Promise<void> => {
    await database.query(
      `UPDATE deliveries.webhook_endpoints SET failing_since = clock_timestamp() - $2 * interval '1 d' WHERE id = $1`,
      [id, days],
    );
    await once();
  };
  const once = async (): Promise<void> => {
    const before = receiver.arrivals.length;
    const [message] = await publish(tenant);
    await until('it was tried and judged', async () => {
      const [row] = await database.query('SELECT attempts, claim_token FROM deliveries.deliveries WHERE id = $1', [
        uuidOf(message!),
      ]);
      return receiver.arrivals.length > before && row!['claim_token'] === null && Number(row!['attempts']) > 0;
    });
    await database.query('DELETE FROM deliveries.deliveries WHERE id = $1', [uuidOf(message!)]);
  };
  for (let count = 0; count < 30; count += 1) await once();
  expect(await endpoints.get(tenant, id)).toMatchObject({ status: 'enabled', failingSince: expect.any(Date) });
  expect(noticesOf(endpoint)).toEqual([]);
  await failingFor(0.99);
  expect(noticesOf(endpoint)).toEqual([]);
  await failingFor(1.01);
  await once();
  expect(noticesOf(endpoint)).toEqual([['webhook_endpoint_failing', undefined]]);
  answer = 200;
  await once();
  expect(await endpoints.get(tenant, id)).toMatchObject({ failingSince: null });
  answer = 500;
  await once();
  for (const days of [1.01, 3.01, 4.01, 4.99]) await failingFor(days);
  expect(noticesOf(endpoint)).toHaveLength(4);
  expect(await endpoints.get(tenant, id)).toMatchObject({ status: 'enabled' });
  await failingFor(5.01);
  expect(await endpoints.get(tenant, id)).toMatchObject({ status: 'disabled', disabledReason: 'failing' });
  expect(noticesOf(endpoint).at(-1)).toEqual(['webhook_endpoint_disabled', 'failing']);
});

it('nobody is disabled without a warning', () => {
  const now = Date.now();
  const daysAgo = (days: number): Date => new Date(now - days * 86_400_000);
  expect(judgeFailure(null, 0, now)).toEqual({ do: 'note' });
  expect(judgeFailure(daysAgo(9), 0, now)).toEqual({ do: 'warn', warnings: 3 });
  expect(judgeFailure(daysAgo(9), 3, now)).toEqual({ do: 'disable' });
});

it('a tenant sees and changes nothing of another’s', async () => {
  const { endpoint } = await register();
  const other = newTenant();
  const { id } = endpoint;
  const calls: Record<string, () => Promise<unknown>> = {
    get: () => endpoints.get(other, id),
    update: () => endpoints.update(other, id, { kinds: ['*'] }),
    rotateSecret: () => endpoints.rotateSecret(other, id),
    disable: () => endpoints.disable(other, id),
    enable: () => endpoints.enable(other, id),
    remove: () => endpoints.remove(other, id),
    sendTest: () => endpoints.sendTest(other, id),
    countFailed: () => endpoints.countFailed(other, id),
    retryFailed: () => endpoints.retryFailed(other, id, {}, { actor: 'eve', asOf: new Date() }),
  };
  for (const [name, call] of Object.entries(calls)) {
    expect([name, await call().catch((error: unknown) => error)]).toEqual([
      name,
      expect.objectContaining({ code: 'WEBHOOK_NOT_FOUND' }),
    ]);
  }
  expect(await endpoints.list(other)).toEqual([]);
  expect((await endpoints.list(endpoint.tenant)).map((each) => each.id)).toEqual([id]);
});

it.each<[string, Partial<NewEndpoint>]>([
  ['a private URL', { url: 'https://10.0.0.1/' }],
  ['a URL without TLS', { url: 'http://receiver.example/' }],
  ['no kinds', { kinds: [] }],
  ['a malformed kind', { kinds: ['a b'] }],
  ['a scheme that there is not', { schemes: ['v9' as 'standard'] }],
  ['no tenant', { tenant: '' }],
])('refuses %s when it is registered', async (_, given) => {
  await expect(register(given)).rejects.toMatchObject({ code: 'WEBHOOK_INPUT' });
});

it('a body that is no JSON, or a kind that is none, is refused and the transaction goes on', async () => {
  const { endpoint, receiver } = await register();
  await app.dataSource.transaction(async (tx) => {
    for (const bad of [
      { kind: 'a', body: Buffer.from('{') },
      { kind: 'a b', body: Buffer.from('{}') },
    ]) {
      await expect(endpoints.publish(tx, { tenant: endpoint.tenant, ...bad })).rejects.toMatchObject({
        code: 'WEBHOOK_INPUT',
      });
    }
    await endpoints.publish(tx, { tenant: endpoint.tenant, kind: 'a', body: Buffer.from('{}') });
  });
  await arrived(receiver);
});
