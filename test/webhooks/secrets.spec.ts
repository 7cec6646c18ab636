import type { LoggerService } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import {
  StandardPrivateKey,
  StandardSecret,
  WebhookConfig,
  WebhookDestination,
  WebhookEndpoints,
  WebhookKeyring,
  WebhookReceivers,
  WebhookSignature,
  WebhookSigningKey,
  WebhookStorageKey,
} from 'nest-deliveries/webhooks';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from '../faults/support/facts';
import { foundIn, type Canaries } from './support/canaries';
import { startTestReceiver, type TestReceiver } from './support/receiver';
import { startWebhooksApp, type WebhooksApp } from './support/webhooks-app';

/** 32 random bytes. */
const key = (): Buffer => randomBytes(32);
/** With characters that JSON escapes. */
const text = (): string => `canary "${randomBytes(12).toString('hex')}"\n\\é`;
/** Of an address or an event key. */
const plain = (): string => `canary-${randomBytes(12).toString('hex')}`;

const keyBytes = key();
const storageBytes = key();
const secretBytes = key();
const seedBytes = key();
const payload = text();
const path = plain();
const eventKey = plain();
const tenantPath = plain();

const canaries = {
  'signing key': keyBytes,
  'storage key': storageBytes,
  secret: secretBytes,
  seed: seedBytes,
  payload,
  'destination path': path,
  'event key': eventKey,
  'endpoint path': tenantPath,
};

const found = (haystack: string, extra: Canaries = {}): string[] => foundIn(haystack, { ...canaries, ...extra });

let database: TestDatabase;
let app: WebhooksApp;
let receiver: TestReceiver;
const lines: unknown[][] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startTestReceiver();
});

afterAll(async () => {
  await app.close();
  receiver.close();
  await database.drop();
});

it('the search finds what it searches for, however it is written', () => {
  for (const [name, canary] of Object.entries(canaries)) {
    const bytes = Buffer.from(canary);
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      for (const before of ['', 'x', 'xx']) {
        const longer = Buffer.concat([Buffer.from(before), bytes, Buffer.from('yy')]);
        expect(found(`before ${longer.toString(encoding)} after`)).toEqual([name]);
      }
    }
    expect(found(JSON.stringify({ deep: [{ bytes }] }))).toEqual([name]);
    expect(found(inspect({ deep: [{ bytes }] }, { depth: 9 }))).toEqual([name]);
    expect(found(inspect(new Uint8Array(bytes)))).toEqual([name]);
    if (typeof canary !== 'string') continue;
    for (const written of [canary, JSON.stringify({ canary }), JSON.stringify(JSON.stringify({ canary }))]) {
      expect(found(written)).toEqual([name]);
    }
  }
});

it('no key, payload, event key, signature or URL is in the tables, the logs, the errors or anything that is inspected', async () => {
  const signingKey = new WebhookSigningKey('key-1', keyBytes.toString('base64url'));
  const storage = new WebhookStorageKey('storage-1', storageBytes);
  const keyring = new WebhookKeyring(storage);
  const secret = new StandardSecret(`whsec_${secretBytes.toString('base64')}`);
  const privateKey = new StandardPrivateKey(`whsk_${seedBytes.toString('base64')}`);
  app = await startWebhooksApp(
    database.url,
    {
      keyring,
      endpoints: {},
      receive: { partner: { rullst: [signingKey], standard: [secret] } },
      http: { testMode: true },
    },
    { logAttempts: 'all' },
  );
  const logger = Object.fromEntries(
    (['log', 'error', 'warn', 'debug', 'verbose', 'fatal'] as const).map((level) => [
      level,
      (...line: unknown[]) => void lines.push(line),
    ]),
  ) as unknown as LoggerService;
  app.module.useLogger(logger);
  const { origin } = new URL(receiver.url);
  const destination = WebhookDestination.loopbackTest(`${origin}/${path}`);
  const config = new WebhookConfig({
    namespace: 'school',
    destination,
    quota: 4,
    schemes: ['rullst-v1', 'standard'],
    standardKeys: [secret, privateKey],
  });
  const outbox = await app.outboxes.open(config, signingKey);
  const endpoints = app.module.get(WebhookEndpoints);
  const errors: unknown[] = [];
  const keep = async (work: () => unknown): Promise<void> => {
    try {
      await work();
    } catch (error) {
      errors.push(error);
    }
  };
  const body = Buffer.from(JSON.stringify({ text: payload }));
  const enqueue = (name: string, bytes: Buffer, kind = 'a'): Promise<{ id: string }> =>
    app.dataSource.transaction((tx) => outbox.enqueue(tx, name, kind, bytes));
  // Endpoints of the strict profile take loopback only over http in test mode, which is what is wanted here.
  const { endpoint, secrets } = await endpoints.register({
    tenant: 'acme',
    url: `${origin}/${tenantPath}`,
    kinds: ['*'],
    schemes: ['rullst-v1', 'standard', 'ed25519'],
  });
  const rotated = await endpoints.rotateSecret('acme', endpoint.id);

  // One that succeeds, one that fails, one that is cut off, and everything that can be refused.
  const answers = [204, 400, 'cut', 204] as const;
  receiver.answer(() => answers[receiver.arrivals.length - 1] ?? 500);
  await enqueue(eventKey, body);
  await until('the first has arrived', () => receiver.arrivals.length === 1);
  await enqueue(`${eventKey}/2`, body);
  await until('the second has arrived', () => receiver.arrivals.length === 2);
  await enqueue(`${eventKey}/3`, body);
  await until('the third has arrived', () => receiver.arrivals.length === 3);
  await app.dataSource.transaction((tx) => endpoints.publish(tx, { tenant: 'acme', kind: 'a', body }));
  await until('the endpoint has got it', () => receiver.arrivals.length === 4);
  await keep(() => enqueue(eventKey, body, 'other'));
  await keep(() => enqueue(`${eventKey} with a space`, body));
  await keep(() => enqueue(`${eventKey}/4`, Buffer.from(`{"${payload}`)));
  await enqueue(`${eventKey}/5`, Buffer.from('{}'));
  await keep(() => enqueue(`${eventKey}/6`, body));
  await keep(() => new WebhookSigningKey('k', `${keyBytes.toString('base64')}!`));
  await keep(() => new StandardSecret(secretBytes.toString('base64')));
  await keep(() => new StandardPrivateKey(`whsk_${seedBytes.toString('base64')}=`));
  await keep(() => new WebhookStorageKey('k', storageBytes.subarray(1)));
  await keep(() => WebhookDestination.approvedHttps(`http://a.example/${path}`));
  await keep(() => endpoints.register({ tenant: 'acme', url: `http://a.example/${tenantPath}`, kinds: ['*'] }));
  await keep(() => keyring.open(['elsewhere'], keyring.seal(['here'], body)));
  await keep(() => app.module.get(WebhookReceivers).get('partner').verify(receiver.arrivals[0]!.rawHeaders, body, 0));
  await outbox.close();
  const drift = new WebhookConfig({ namespace: 'school', destination, quota: 5 });
  await keep(() => app.outboxes.open(drift, signingKey));
  expect(errors).toHaveLength(13);

  const [arrival] = receiver.arrivals;
  const signature = WebhookSignature.fromRawHeaders(arrival!.rawHeaders);
  const wire = {
    signature: arrival!.headers['rullst-webhook-signature']!.slice(3),
    'standard signature': arrival!.headers['webhook-signature']!.slice(3, 40),
    'endpoint secret': secrets.secret!.slice(6),
    'endpoint key': secrets.signingKey!,
    'rotated secret': rotated.secret!.slice(6),
  };
  const objects = [signingKey, storage, keyring, secret, privateKey, config, destination, outbox, signature];
  const services = [app.outboxes, endpoints, app.module.get(WebhookReceivers), endpoint];
  const said = objects.flatMap((object) => [object.toString(), JSON.stringify(object)]);
  // Also past what they say of themselves, down to their fields.
  const deep = { depth: 4, showHidden: true, getters: true };
  const inspected = [...objects, ...services].flatMap((each) => [
    inspect(each, deep),
    inspect(each, { ...deep, customInspect: false }),
  ]);
  expect(found([...said, ...inspected].join('\n'), wire)).toEqual([]);
  expect(found(errors.map((error) => inspect(error, { depth: 9 })).join('\n'), wire)).toEqual([]);
  expect(lines.length).toBeGreaterThan(2);
  expect(found(lines.map((line) => inspect(line, { depth: 9 })).join('\n'), wire)).toEqual([]);

  const tables = await database.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'deliveries' ORDER BY 1`,
  );
  expect(tables.map(({ name }) => name)).toContain('webhook_endpoints');
  for (const { name } of tables) {
    const rows = await database.query<{ row: string }>(`SELECT to_jsonb(t)::text AS row FROM deliveries.${name} t`);
    expect([name, found(rows.map(({ row }) => row).join('\n'), wire)]).toEqual([name, []]);
  }
});
