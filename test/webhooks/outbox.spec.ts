import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createPublicKey, randomBytes, verify } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Webhook as SvixWebhook } from 'svix';
import { scriptedResolver } from 'nest-deliveries/outbound-http';
import {
  StandardPrivateKey,
  StandardSecret,
  WebhookConfig,
  WebhookDestination,
  WebhookKeyring,
  WebhookSignature,
  WebhookSigningKey,
  WebhookStorageKey,
  type WebhookConfigOptions,
  type WebhookOutbox,
} from 'nest-deliveries/webhooks';
import type { EntityManager } from 'typeorm';
import { createTestCa, type TestCa, type TestCertificate } from '../../src/demo/certificates';
import { gate, until } from '../faults/support/facts';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTestReceiver, type TestReceiver } from './support/receiver';
import { newKeyring, newSigningKey, newStorageKey, startWebhooksApp, type WebhooksApp } from './support/webhooks-app';

let database: TestDatabase;
let app: WebhooksApp;
let ca: TestCa;
let certificate: TestCertificate;
let receiver: TestReceiver;
const resolver = scriptedResolver();
const keyring = newKeyring();
const opened: WebhookOutbox[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  ca = await createTestCa();
  certificate = await ca.issue({ hosts: ['127.0.0.1'] });
  await database.query('CREATE TABLE usable (at timestamptz)');
  app = await startWebhooksApp(database.url, { keyring, http: { resolver } });
});

beforeEach(async () => {
  receiver = await startTestReceiver(certificate);
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((outbox) => outbox.close()));
  receiver.close();
});

afterAll(async () => {
  await app.close();
  await database.drop();
});

let namespaces = 0;
const newNamespace = (): string => `school-${(namespaces += 1)}`;
const toReceiver = (): WebhookDestination => WebhookDestination.loopbackTest(receiver.url, ca.certificate);

interface Opening extends Partial<WebhookConfigOptions> {
  readonly key?: WebhookSigningKey;
  readonly keyring?: WebhookKeyring;
  readonly workers?: number;
}

/** An outbox of a namespace of its own, dispatched by hand unless workers are asked for. */
async function open({
  key = newSigningKey(),
  keyring: ring,
  workers = 0,
  ...config
}: Opening = {}): Promise<WebhookOutbox> {
  const options = { namespace: newNamespace(), destination: toReceiver(), quota: 100, ...config };
  const outbox = await app.outboxes.open(new WebhookConfig(options), key, { workers, ...(ring && { keyring: ring }) });
  opened.push(outbox);
  return outbox;
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

const enqueue = async (
  outbox: WebhookOutbox,
  key = 'completion/42/v1',
  body: Buffer = json({ done: true }),
): Promise<string> => (await app.dataSource.transaction((tx) => outbox.enqueue(tx, key, 'course.completed', body))).id;

const uuidOf = (id: string): string => id.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

interface Row {
  readonly status: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly due_in: number;
  readonly deadline: Date;
}

async function rowOf(id: string): Promise<Row> {
  const [row] = await database.query<Row & Record<string, unknown>>(
    `SELECT status, attempts, last_error, deadline, date_part('epoch', due_at - clock_timestamp()) AS due_in
       FROM deliveries.deliveries WHERE id = $1`,
    [uuidOf(id)],
  );
  return row!;
}

const move = (id: string, change: string): Promise<unknown> =>
  database.query(`UPDATE deliveries.deliveries SET ${change} WHERE id = $1`, [uuidOf(id)]);

/** Due now, and nothing that a receiver asked for stands in the way. */
const makeDue = async (id: string): Promise<void> => {
  await move(id, 'due_at = clock_timestamp()');
  await database.query('DELETE FROM deliveries.delivery_pauses');
};

/** Dispatches until nothing is due. */
async function drain(outbox: WebhookOutbox): Promise<void> {
  for (;;) if ((await outbox.dispatchNext('w')).type === 'idle') return;
}

/** Runs what is refused in a transaction that goes on afterwards, and commits. @returns the code of the refusal */
async function refusedIn(work: (tx: EntityManager) => Promise<unknown>): Promise<unknown> {
  return app.dataSource.transaction(async (tx) => {
    const code = await work(tx).then(
      () => 'accepted',
      (error: { code?: unknown }) => error.code,
    );
    await tx.query('INSERT INTO usable VALUES (clock_timestamp())');
    return code;
  });
}

describe('sending', () => {
  it('sends the exact bytes once the transaction has committed, signed in both schemes, as other people’s code verifies', async () => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const privateKey = new StandardPrivateKey(`whsk_${randomBytes(32).toString('base64')}`);
    const key = newSigningKey('receiver-key-2026-09');
    const outbox = await open({
      key,
      workers: 1,
      schemes: ['rullst-v1', 'standard'],
      standardKeys: [new StandardSecret(secret), privateKey],
    });
    const body = Buffer.from('{ "name":"Zoë 日本語 😀",\n "done" : true }');
    const committed = gate();
    const recording = app.dataSource.transaction(async (tx) => {
      const enqueued = await outbox.enqueue(tx, 'completion/42/v1', 'course.completed', body);
      await committed.passed;
      return enqueued;
    });
    // What was recorded after it, and committed, is sent: nothing of the open transaction is.
    const other = await open({ workers: 1, destination: toReceiver() });
    const otherId = await enqueue(other);
    await until('the other one arrives', () => receiver.arrivals.length > 0);
    expect(receiver.arrivals.map(({ headers }) => headers['rullst-webhook-id'])).toEqual([otherId]);
    committed.open();
    const { id, duplicate, offline } = await recording;
    expect({ id, duplicate, offline }).toEqual({
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      duplicate: false,
      offline: false,
    });
    const arrival = await until('it arrives', () => receiver.arrivals[1]);
    expect(arrival.body.equals(body)).toBe(true);
    expect(arrival.headers).toMatchObject({
      'content-type': 'application/json',
      'rullst-webhook-id': id,
      'rullst-webhook-type': 'course.completed',
      'rullst-webhook-key-id': 'receiver-key-2026-09',
      'webhook-id': id,
    });
    key.verify(WebhookSignature.fromRawHeaders(arrival.rawHeaders), arrival.body, Date.now(), 5);
    const expected = JSON.parse(body.toString());
    expect(new Webhook(secret).verify(body.toString(), arrival.headers)).toEqual(expected);
    expect(new SvixWebhook(secret).verify(body.toString(), arrival.headers)).toEqual(expected);
    const [, asymmetric] = /v1a,(\S+)/.exec(arrival.headers['webhook-signature']!)!;
    const spki = Buffer.concat([
      Buffer.from('302a300506032b6570032100', 'hex'),
      Buffer.from(privateKey.publicKey.slice('whpk_'.length), 'base64'),
    ]);
    const signed = Buffer.from(`${id}.${arrival.headers['webhook-timestamp']}.${body.toString()}`);
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    expect(verify(null, signed, publicKey, Buffer.from(asymmetric!, 'base64'))).toBe(true);
    await until('it is written down', async () => (await rowOf(id)).status === 'succeeded');
  });

  it('records nothing with a transaction that rolls back, not even a place in the quota', async () => {
    const outbox = await open({ quota: 1 });
    await expect(
      app.dataSource.transaction(async (tx) => {
        await outbox.enqueue(tx, 'a', 'a', json(1));
        throw new Error('changed my mind');
      }),
    ).rejects.toThrow('changed my mind');
    await app.dataSource.transaction(async (tx) => {
      await tx.query('SAVEPOINT a');
      await outbox.enqueue(tx, 'a', 'a', json(1));
      await tx.query('ROLLBACK TO SAVEPOINT a');
    });
    expect(await outbox.dispatchNext('w')).toEqual({ type: 'idle' });
    await enqueue(outbox, 'b');
    expect(receiver.arrivals).toEqual([]);
    await expect(outbox.enqueue(app.dataSource.manager, 'c', 'c', json(1))).rejects.toMatchObject({
      code: 'DELIVERIES_TRANSACTION_REQUIRED',
    });
  });

  it('BL-064: each attempt has a fresh timestamp and a valid signature under one id, a lost answer and an operator’s retry too', async () => {
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    const outbox = await open({ schemes: ['standard'], standardKeys: [new StandardSecret(secret)] });
    const id = await enqueue(outbox);
    const other = await enqueue(outbox, 'other');
    await move(other, `due_at = 'infinity'`);
    const answers = ['cut', 503, 400, 204] as const;
    receiver.answer(() => answers[receiver.arrivals.length - 1]!);
    const start = Date.now();
    const clock = jest.spyOn(Date, 'now');
    const outcomes: unknown[] = [];
    for (const [attempt] of answers.entries()) {
      // 20 minutes from attempt to attempt, and the operator comes back a day later.
      const now = start + attempt * 1_200_000 + (attempt === 3 ? 86_400_000 : 0);
      clock.mockImplementation(() => now);
      await makeDue(id);
      if (attempt === 3) await outbox.retryFailed(id);
      outcomes.push((await outbox.dispatchNext('worker-1')).type);
      const { headers, body } = receiver.arrivals[attempt]!;
      expect(Number(headers['webhook-timestamp'])).toBe(Math.floor(now / 1_000));
      // The verifier asks the same clock, and accepts five minutes of age.
      expect(new Webhook(secret).verify(body.toString(), headers)).toEqual({ done: true });
      expect(headers['webhook-id']).toBe(id);
    }
    clock.mockRestore();
    expect(outcomes).toEqual(['retryScheduled', 'retryScheduled', 'failed', 'accepted']);
    expect(receiver.arrivals.every(({ body }) => body.equals(receiver.arrivals[0]!.body))).toBe(true);
    expect(other).not.toBe(id);
  });

  it.each([
    [200, 'accepted'],
    [202, 'accepted'],
    [301, 'failed'],
    [307, 'failed'],
    [400, 'failed'],
    [404, 'failed'],
    [408, 'retryScheduled'],
    [410, 'failed'],
    [425, 'retryScheduled'],
    [429, 'retryScheduled'],
    [500, 'retryScheduled'],
    [503, 'retryScheduled'],
  ])('%i means %s, and a redirect is not followed', async (status, type) => {
    const outbox = await open();
    const id = await enqueue(outbox);
    receiver.answer(() => ({ status, headers: { location: receiver.url } }));
    const code = type === 'accepted' ? {} : { code: String(status) };
    expect(await outbox.dispatchNext('w')).toMatchObject({ type, id, ...code });
    expect(receiver.arrivals).toHaveLength(1);
    await makeDue(id);
  });

  it('trusts no certificate but those of the authorities that it knows', async () => {
    const outbox = await open({ destination: WebhookDestination.loopbackTest(receiver.url) });
    await enqueue(outbox);
    expect(await outbox.dispatchNext('w')).toMatchObject({ type: 'retryScheduled', code: /CERT|SIGNATURE/ });
    expect(receiver.arrivals).toEqual([]);
  });

  it('opens no socket to a name that resolves to anything but public addresses, or to more than 16', async () => {
    const sockets: unknown[] = [];
    const count = (): void => void sockets.push(1);
    const outbox = await open({
      destination: WebhookDestination.approvedHttps('https://receiver.example.test/events'),
    });
    const id = await enqueue(outbox);
    const denied = {
      '10.0.0.5': 'private',
      '127.0.0.1': 'loopback',
      '169.254.169.254': 'link-local',
      '192.0.2.1': 'documentation',
      'fd00::1': 'unique-local',
      '64:ff9b::102:304': 'nat64',
      '2002:102:304::1': '6to4',
    };
    const codes: unknown[] = [];
    const many = Array.from({ length: 17 }, (_, index) => `93.184.216.${index + 1}`);
    subscribe('net.client.socket', count);
    for (const addresses of [...Object.keys(denied).map((address) => ['93.184.216.34', address]), many]) {
      resolver.answer('receiver.example.test', addresses);
      const outcome = await outbox.dispatchNext('w');
      codes.push([outcome.type, 'code' in outcome && outcome.code]);
      await outbox.retryFailed(id);
    }
    unsubscribe('net.client.socket', count);
    expect(codes).toEqual(
      [...Object.values(denied), 'too-many-addresses'].map((reason) => ['failed', `refused:${reason}`]),
    );
    expect(sockets).toEqual([]);
  });

  it('asks the database after resolving whether the event is still to be sent, and sends nothing when it is not', async () => {
    const outbox = await open({ destination: WebhookDestination.approvedHttps('https://slow.example.test/events') });
    const id = await enqueue(outbox);
    const sockets: unknown[] = [];
    const count = (): void => void sockets.push(1);
    resolver.answer('slow.example.test', async () => {
      await outbox.cancel(id);
      subscribe('net.client.socket', count);
      return ['93.184.216.34'];
    });
    await expect(outbox.dispatchNext('w')).rejects.toMatchObject({ code: 'WEBHOOK_CLAIM_LOST', messageId: id });
    unsubscribe('net.client.socket', count);
    expect(sockets).toEqual([]);
    expect(await rowOf(id)).toMatchObject({ status: 'cancelled' });
  });
});

describe('retrying', () => {
  it.each([
    ['120', 120],
    ['3600', 3_600],
    ['3601', undefined],
    ['99999999999', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['Wed, 01 Jan 2031 00:00:00 GMT', undefined],
  ])('Retry-After: %s', async (header, seconds) => {
    const outbox = await open({ window: '1d' });
    const id = await enqueue(outbox);
    receiver.answer(() => ({ status: 503, headers: { 'retry-after': header } }));
    expect(await outbox.dispatchNext('w')).toMatchObject({ type: 'retryScheduled' });
    const { due_in: dueIn } = await rowOf(id);
    // The first bound of a day's window is 168.75 s, and no wait is shorter than a tenth of it.
    expect(dueIn).toBeGreaterThan((seconds ?? 16.8) - 2);
    expect(dueIn).toBeLessThanOrEqual(Math.max(seconds ?? 0, 168.75));
    await makeDue(id);
  });

  it('waits longer from attempt to attempt, so that ten of them take the window and not its first minutes, and ends at the tenth', async () => {
    const outbox = await open({ window: '1d' });
    const id = await enqueue(outbox);
    receiver.answer(() => 500);
    const chance = jest.spyOn(Math, 'random').mockReturnValue(0.999_999);
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 9; attempt += 1) {
      expect(await outbox.dispatchNext('w')).toMatchObject({ type: 'retryScheduled' });
      waits.push(Math.ceil((await rowOf(id)).due_in));
      await makeDue(id);
    }
    chance.mockRestore();
    expect(waits).toEqual([169, 338, 675, 1_350, 2_700, 5_400, 10_800, 21_600, 43_200]);
    expect(await outbox.dispatchNext('w')).toMatchObject({ type: 'failed', code: '500' });
    expect(receiver.arrivals).toHaveLength(10);
    expect(await rowOf(id)).toMatchObject({ status: 'failed', attempts: 10 });
  });

  it('sends nothing after the window, which a retry by hand does not move', async () => {
    const outbox = await open({ window: '1h' });
    const id = await enqueue(outbox);
    const { deadline } = await rowOf(id);
    expect(deadline.getTime() - Date.now()).toBeGreaterThan(3_590_000);
    expect(deadline.getTime() - Date.now()).toBeLessThanOrEqual(3_600_000);
    receiver.answer(() => 400);
    expect(await outbox.dispatchNext('w')).toMatchObject({ type: 'failed' });
    await outbox.retryFailed(id, { actor: 'ada' });
    expect((await rowOf(id)).deadline).toEqual(deadline);
    await move(id, `deadline = clock_timestamp() - interval '1 ms'`);
    expect(await outbox.dispatchNext('w')).toEqual({ type: 'failed', id, code: 'expired' });
    expect(receiver.arrivals).toHaveLength(1);
    await expect(outbox.retryFailed(id)).rejects.toMatchObject({ code: 'WEBHOOK_STATE' });
    await expect(app.operations.retry(uuidOf(id), { actor: 'ada' })).rejects.toMatchObject({
      code: 'DELIVERIES_STATE',
    });
  });

  it('a retry by hand starts a new budget of ten under the same id; accepted, cancelled, purged and unknown ones have none', async () => {
    const outbox = await open();
    const id = await enqueue(outbox);
    receiver.answer(() => 500);
    await move(id, 'attempts = 9');
    expect(await outbox.dispatchNext('w')).toMatchObject({ type: 'failed' });
    await outbox.retryFailed(id);
    expect(await outbox.dispatchNext('w')).toMatchObject({ type: 'retryScheduled', id });
    await expect(outbox.retryFailed(id)).rejects.toMatchObject({ code: 'WEBHOOK_STATE' });
    receiver.answer(() => 200);
    await makeDue(id);
    expect(await outbox.dispatchNext('w')).toMatchObject({ type: 'accepted', id });
    await expect(outbox.retryFailed(id)).rejects.toMatchObject({ code: 'WEBHOOK_STATE' });
    await move(id, `created_at = created_at - interval '8 d'`);
    expect(await outbox.purgeTerminal(new Date(Date.now() - 7 * 86_400_000))).toBe(1);
    await expect(outbox.retryFailed(id)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
    await expect(outbox.retryFailed('msg_nonsense')).rejects.toMatchObject({ code: 'WEBHOOK_INPUT' });
  });
});

describe('cancelling', () => {
  it('is final for what waits, is being sent or has failed, whoever tries to bring it back', async () => {
    const outbox = await open();
    const [waiting, sending, failing] = [
      await enqueue(outbox, 'a'),
      await enqueue(outbox, 'b'),
      await enqueue(outbox, 'c'),
    ];
    await outbox.cancel(waiting, { actor: 'ada' });
    const arrived = gate();
    const answered = gate();
    receiver.answer(async () => {
      arrived.open();
      await answered.passed;
      return 200;
    });
    const dispatch = outbox.dispatchNext('worker-1');
    await arrived.passed;
    await outbox.cancel(sending);
    answered.open();
    // It was accepted, and that could not be written down.
    await expect(dispatch).rejects.toMatchObject({
      code: 'WEBHOOK_ACKNOWLEDGEMENT',
      messageId: sending,
      status: 200,
    });
    receiver.answer(() => 404);
    expect(await outbox.dispatchNext('w')).toMatchObject({ type: 'failed', id: failing });
    await outbox.cancel(failing);
    const ids = [waiting, sending, failing];
    for (const id of ids) {
      expect(await rowOf(id)).toMatchObject({ status: 'cancelled' });
      await expect(outbox.cancel(id)).rejects.toMatchObject({ code: 'WEBHOOK_STATE' });
      await expect(outbox.retryFailed(id)).rejects.toMatchObject({ code: 'WEBHOOK_STATE' });
      const retry = app.operations.retry(uuidOf(id), { actor: 'ada' });
      await expect(retry).rejects.toMatchObject({ code: 'DELIVERIES_STATE' });
    }
    const channel = `webhooks.${outbox.namespace}`;
    const report = await app.operations.retryMatching({ channel, status: 'cancelled' }, { actor: 'ada' });
    expect(report.changed).toBe(0);
    expect(await outbox.dispatchNext('w')).toEqual({ type: 'idle' });
  });

  it('keeps the id and the status of what was accepted when a stale worker’s claim is somebody else’s by then', async () => {
    const outbox = await open();
    const id = await enqueue(outbox);
    receiver.answer(async () => {
      await move(id, 'claim_token = gen_random_uuid()');
      return 202;
    });
    const error = await outbox.dispatchNext('stale').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'WEBHOOK_ACKNOWLEDGEMENT', messageId: id, status: 202 });
    expect(await rowOf(id)).toMatchObject({ status: 'pending', attempts: 1 });
  });
});

describe('event keys and quota', () => {
  it('the same key with the same content gives the first id; with other content it is a conflict, and the transaction goes on', async () => {
    const outbox = await open();
    const id = await enqueue(outbox, 'k', json({ a: 1 }));
    const again = (kind: string, body: Buffer): Promise<unknown> =>
      refusedIn((tx) => outbox.enqueue(tx, 'k', kind, body));
    expect(await again('course.completed', Buffer.from('{"a": 1}'))).toBe('WEBHOOK_CONFLICT');
    expect(await again('course.started', json({ a: 1 }))).toBe('WEBHOOK_CONFLICT');
    const repeat = (tx: EntityManager): Promise<unknown> => outbox.enqueue(tx, 'k', 'course.completed', json({ a: 1 }));
    for (const repeated of [await app.dataSource.transaction(repeat), await app.recorder.transaction(repeat)]) {
      expect(repeated).toEqual({ id, duplicate: true, offline: false });
    }
    const [count] = await database.query(`SELECT retained FROM deliveries.webhook_namespaces WHERE namespace = $1`, [
      outbox.namespace,
    ]);
    expect(count).toEqual({ retained: 1 });
    const stored = await database.query(
      `SELECT destination, lane, dedupe_key, payload FROM deliveries.deliveries WHERE channel = $1`,
      [`webhooks.${outbox.namespace}`],
    );
    expect(stored).toEqual([
      {
        destination: outbox.namespace,
        lane: outbox.namespace,
        dedupe_key: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
        payload: { v: 1, key: 'storage-1', nonce: expect.any(String), data: expect.any(String) },
      },
    ]);
    const [event] = await database.query(
      `SELECT e.type, e.payload FROM deliveries.events e WHERE e.delivery_ids @> ARRAY[$1::uuid]`,
      [uuidOf(id)],
    );
    expect(event).toEqual({ type: 'delivery_enqueued', payload: { channel: `webhooks.${outbox.namespace}` } });
  });

  it.each([
    ['commits', 'duplicate'],
    ['rolls back', 'inserted'],
  ])('of two transactions that race for a key, the second waits; the first %s', async (ending, expected) => {
    const outbox = await open();
    const recorded = gate();
    const end = gate();
    const first = app.dataSource
      .transaction(async (tx) => {
        const { id } = await outbox.enqueue(tx, 'k', 'a', json(1));
        recorded.open();
        await end.passed;
        if (ending === 'rolls back') throw new Error(id);
        return id;
      })
      .catch((error: Error) => error.message);
    await recorded.passed;
    const second = app.dataSource.transaction(async (tx) => {
      const [{ pid }] = await tx.query<[{ pid: number }]>('SELECT pg_backend_pid() AS pid');
      void until('the second waits for a lock', async () => {
        const rows = await database.query(`SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'`, [
          pid,
        ]);
        return rows.length === 1;
      }).then(() => end.open());
      return outbox.enqueue(tx, 'k', 'a', json(1));
    });
    expect(await second).toMatchObject({ duplicate: expected === 'duplicate' });
    expect((await second).id === (await first)).toBe(expected === 'duplicate');
  });

  it('the quota is exact with twenty who enqueue at once, counts what has ended, and leaves the transaction usable', async () => {
    const outbox = await open({ quota: 7 });
    const codes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => refusedIn((tx) => outbox.enqueue(tx, `key-${index}`, 'a', json(index)))),
    );
    expect(codes.filter((code) => code === 'accepted')).toHaveLength(7);
    expect(codes.filter((code) => code === 'WEBHOOK_CAPACITY')).toHaveLength(13);
    await drain(outbox);
    const taken = codes.indexOf('accepted');
    const full = (key: string, body: Buffer): Promise<unknown> => refusedIn((tx) => outbox.enqueue(tx, key, 'a', body));
    expect(await full('one-more', json(1))).toBe('WEBHOOK_CAPACITY');
    // What is there is found all the same.
    expect(await full(`key-${taken}`, json(taken))).toBe('accepted');
    expect(await full(`key-${taken}`, json('other'))).toBe('WEBHOOK_CONFLICT');
    // Deleted by hand: counted when it matters.
    await database.query(
      `DELETE FROM deliveries.deliveries WHERE id = (SELECT id FROM deliveries.deliveries WHERE channel = $1 LIMIT 1)`,
      [`webhooks.${outbox.namespace}`],
    );
    expect(await full('one-more', json(1))).toBe('accepted');
    expect(await full('two-more', json(1))).toBe('WEBHOOK_CAPACITY');
    const [counted] = await database.query(
      `SELECT n.retained, (SELECT count(*)::integer FROM deliveries.deliveries d WHERE d.channel = $1) AS there
         FROM deliveries.webhook_namespaces n WHERE n.namespace = $2`,
      [`webhooks.${outbox.namespace}`, outbox.namespace],
    );
    expect(counted).toEqual({ retained: 7, there: 7 });
  });

  it.each<[string, unknown[]]>([
    ['an event key that is empty', ['', 'a', json(1)]],
    ['an event key with a space', ['a b', 'a', json(1)]],
    ['an event key of 256', ['k'.repeat(256), 'a', json(1)]],
    ['a kind with a slash', ['k', 'a/b', json(1)]],
    ['a kind of 129', ['k', 'a'.repeat(129), json(1)]],
    ['no bytes', ['k', 'a', Buffer.alloc(0)]],
    ['bytes that are no JSON', ['k', 'a', Buffer.from('{"a":1')]],
    ['two JSON texts', ['k', 'a', Buffer.from('{}{}')]],
    ['bytes that are no UTF-8', ['k', 'a', Buffer.from([0x22, 0xff, 0x22])]],
    ['a byte order mark', ['k', 'a', Buffer.from('\ufeff{}')]],
    ['a text in the place of bytes', ['k', 'a', '{}']],
    ['65,537 bytes', ['k', 'a', Buffer.from(`"${'x'.repeat(65_535)}"`)]],
  ])('refuses %s before anything is recorded', async (_, [key, kind, bytes]) => {
    const outbox = await open();
    const enqueueBad = (tx: EntityManager): Promise<unknown> =>
      outbox.enqueue(tx, key as string, kind as string, bytes as Uint8Array);
    expect(await refusedIn(enqueueBad)).toBe('WEBHOOK_INPUT');
    expect(await outbox.dispatchNext('w')).toEqual({ type: 'idle' });
  });

  it('takes the longest key, kind, namespace and body', async () => {
    const outbox = await open({ namespace: 'n'.repeat(128) });
    const body = Buffer.from(`"${'x'.repeat(65_534)}"`);
    const { id } = await app.dataSource.transaction((tx) =>
      outbox.enqueue(tx, 'A9._:/-'.padEnd(255, 'k'), 'A9._:-'.padEnd(128, 'e'), body),
    );
    expect(await outbox.dispatchNext('w')).toEqual({ type: 'accepted', id, offline: false });
    expect(receiver.arrivals[0]!.body.equals(body)).toBe(true);
  });
});

describe('opening', () => {
  const config = (changes: Partial<WebhookConfigOptions> = {}): WebhookConfigOptions => ({
    namespace: newNamespace(),
    destination: toReceiver(),
    quota: 10,
    window: '1h',
    ...changes,
  });

  it('with anything else than at first fails, names what it is, and sends nothing', async () => {
    const first = config();
    const key = newSigningKey();
    const standardKeys = [new StandardSecret(`whsec_${randomBytes(32).toString('base64')}`)];
    const outbox = await open({ ...first, key });
    await enqueue(outbox);
    await outbox.close();
    const drifts: [string, Opening][] = [
      ['destination', { destination: WebhookDestination.loopbackTest(`${receiver.url}/other`, ca.certificate) }],
      [
        'destination and another mode',
        { destination: WebhookDestination.approvedHttps('https://receiver.example.test/') },
      ],
      ['signing key', { key: newSigningKey() }],
      ['mode and another signing key', { key: new WebhookSigningKey('key-1', '') }],
      ['quota', { quota: 11 }],
      ['window', { window: '2h' }],
      ['schemes and another standard keys', { schemes: ['rullst-v1', 'standard'], standardKeys }],
    ];
    for (const [what, drift] of drifts) {
      const error = await open({ ...first, key, workers: 1, ...drift }).catch((thrown: unknown) => thrown);
      expect([what, error]).toEqual([what, expect.objectContaining({ code: 'WEBHOOK_CONFIGURATION' })]);
      expect((error as Error).message).toContain(`opened first with another ${what}, and nothing is sent`);
      expect((error as Error).message).not.toContain('127.0.0.1');
    }
    const sameBytes = new WebhookSigningKey('key-2', Buffer.alloc(32, 7).toString('base64url'));
    const other = await open({
      ...config(),
      key: new WebhookSigningKey('key-1', Buffer.alloc(32, 7).toString('base64url')),
    });
    await other.close();
    await expect(
      app.outboxes.open(new WebhookConfig({ ...first, namespace: other.namespace }), sameBytes),
    ).rejects.toThrow('another signing key ID');
    expect(receiver.arrivals).toEqual([]);
    // And with the same it goes on.
    const again = await open({ ...first, key });
    expect(await again.dispatchNext('w')).toMatchObject({ type: 'accepted' });
  });

  it('with a keyring that does not open it fails; with a new primary key it is sealed anew, and the old key can go once its events are gone', async () => {
    const first = config();
    const key = newSigningKey();
    const [old, fresh] = [newStorageKey('old'), newStorageKey('fresh')];
    const outbox = await open({ ...first, key, keyring: new WebhookKeyring(old) });
    const id = await enqueue(outbox, 'a');
    await outbox.close();
    for (const wrong of [new WebhookKeyring(fresh), new WebhookKeyring(newStorageKey('old'))]) {
      await expect(open({ ...first, key, keyring: wrong })).rejects.toMatchObject({ code: 'WEBHOOK_CONFIGURATION' });
    }
    const both = await open({ ...first, key, keyring: new WebhookKeyring(fresh, old) });
    const [control] = await database.query<{ key: string }>(
      `SELECT control->>'key' AS key FROM deliveries.webhook_namespaces WHERE namespace = $1`,
      [first.namespace],
    );
    expect(control).toEqual({ key: 'fresh' });
    await enqueue(both, 'b');
    await both.close();
    // Too early: what is still sealed under the old key waits for it.
    const early = await open({ ...first, key, keyring: new WebhookKeyring(fresh) });
    expect(await early.dispatchNext('w')).toEqual({ type: 'retryScheduled', id, code: 'storage_key_missing' });
    expect(await early.dispatchNext('w')).toMatchObject({ type: 'accepted' });
    await early.close();
    const late = await open({ ...first, key, keyring: new WebhookKeyring(fresh, old) });
    await makeDue(id);
    expect(await late.dispatchNext('w')).toMatchObject({ type: 'accepted', id });
    await move(id, `created_at = created_at - interval '2 h'`);
    expect(await late.purgeTerminal(new Date(Date.now() - 3_700_000))).toBe(1);
    await late.close();
    const last = await open({ ...first, key, keyring: new WebhookKeyring(fresh) });
    expect(await last.failed()).toEqual([]);
  });

  it('a row that was moved to another namespace or another id does not open, and is not sent', async () => {
    const [from, to] = [await open(), await open()];
    const moved = await enqueue(from, 'a');
    await move(moved, `channel = 'webhooks.${to.namespace}', lane = '${to.namespace}'`);
    expect(await to.dispatchNext('w')).toEqual({ type: 'failed', id: moved, code: 'seal_broken' });
    const [one, two] = [await enqueue(from, 'b'), await enqueue(from, 'c')];
    await move(one, `payload = (SELECT payload FROM deliveries.deliveries WHERE id = '${uuidOf(two)}')`);
    expect(await from.dispatchNext('w')).toEqual({ type: 'failed', id: one, code: 'seal_broken' });
    expect(receiver.arrivals).toEqual([]);
  });

  it('several processes that open a namespace together agree', async () => {
    const options = config();
    const key = newSigningKey();
    const other = await startWebhooksApp(database.url, { keyring });
    try {
      const outboxes = await Promise.all(
        [app, other].map((each) => each.outboxes.open(new WebhookConfig(options), key, { workers: 0 })),
      );
      opened.push(...outboxes);
      await enqueue(outboxes[0]!, 'a');
      const both = await Promise.all(outboxes.map((outbox, index) => outbox.dispatchNext(`worker-${index}`)));
      expect(both.map(({ type }) => type).toSorted()).toEqual(['accepted', 'idle']);
      expect(receiver.arrivals).toHaveLength(1);
      // Closed here, it goes on there.
      await outboxes[0]!.close();
      await expect(outboxes[0]!.dispatchNext('w')).rejects.toMatchObject({ code: 'WEBHOOK_CLOSED' });
      await other.dataSource.transaction((tx) => outboxes[1]!.enqueue(tx, 'b', 'b', json(1)));
      expect(await outboxes[1]!.dispatchNext('w')).toMatchObject({ type: 'accepted' });
    } finally {
      await other.close();
    }
  });

  it('in one process it is opened once at a time, and a namespace that nobody opened is not worked on', async () => {
    const options = config();
    const outbox = await open(options);
    await expect(app.outboxes.open(new WebhookConfig(options), newSigningKey())).rejects.toThrow(
      'open in this process already',
    );
    expect(app.outboxes.get(options.namespace)).toBe(outbox);
    await outbox.close();
    expect(() => app.outboxes.get(options.namespace)).toThrow('is not open in this process');
  });

  it('a signing key that is also a storage key is refused', async () => {
    const bytes = randomBytes(32);
    const shared = new WebhookKeyring(newStorageKey('a'), new WebhookStorageKey('b', bytes));
    const key = new WebhookSigningKey('k', bytes.toString('base64url'));
    await expect(open({ key, keyring: shared })).rejects.toThrow('are the same bytes');
    await expect(open({ key, keyring: newKeyring() })).resolves.toBeDefined();
    const secret = new StandardSecret(`whsec_${bytes.toString('base64')}`);
    await expect(open({ keyring: shared, schemes: ['standard'], standardKeys: [secret] })).rejects.toThrow(
      'same bytes',
    );
  });

  it.each<[string, Partial<WebhookConfigOptions>]>([
    ['a quota of 0', { quota: 0 }],
    ['a quota of 100,000', { quota: 100_000 }],
    ['a window of 59 s', { window: '59s' }],
    ['a window of eight days', { window: '8d' }],
    ['a scheme that there is not', { schemes: ['v2' as 'standard'] }],
    ['the scheme standard without keys', { schemes: ['standard'] }],
    ['an option that there is none', { windows: '1d' } as Partial<WebhookConfigOptions>],
    ['a URL in the place of a destination', { destination: 'https://a.example/' as unknown as WebhookDestination }],
  ])('refuses %s', (_, changes) => {
    expect(() => new WebhookConfig(config(changes))).toThrow(
      expect.objectContaining({ code: 'WEBHOOK_CONFIGURATION' }),
    );
  });

  it('refuses destinations that are not public, and test destinations that are not loopback', () => {
    for (const url of [
      'http://a.example/',
      'https://127.0.0.1/',
      'https://10.0.0.1/',
      'https://localhost/',
      'https://u:p@a.example/',
    ]) {
      expect(() => WebhookDestination.approvedHttps(url)).toThrow(
        expect.objectContaining({ code: 'WEBHOOK_CONFIGURATION' }),
      );
    }
    for (const url of [
      'http://localhost/a',
      'http://10.0.0.1/a',
      'https://a.example/a',
      'http://127.1/a',
      'ftp://127.0.0.1/a',
    ]) {
      expect(() => WebhookDestination.loopbackTest(url)).toThrow(
        expect.objectContaining({ code: 'WEBHOOK_CONFIGURATION' }),
      );
    }
  });
});

describe('offline', () => {
  it.each(['', 'mock_receiver'])(
    'a credential of %j settles as accepted, says so, and neither resolves nor connects',
    async (encoded) => {
      const sockets: unknown[] = [];
      const count = (): void => void sockets.push(1);
      const asked = resolver.asked.length;
      const outbox = await open({
        key: new WebhookSigningKey('k', encoded),
        destination: WebhookDestination.approvedHttps('https://offline.example.test/'),
      });
      const enqueued = await app.dataSource.transaction((tx) => outbox.enqueue(tx, 'a', 'a', json(1)));
      expect(enqueued).toMatchObject({ duplicate: false, offline: true });
      subscribe('net.client.socket', count);
      const dispatched = await outbox.dispatchNext('w');
      unsubscribe('net.client.socket', count);
      expect(dispatched).toEqual({ type: 'accepted', id: enqueued.id, offline: true });
      expect([resolver.asked.length - asked, sockets]).toEqual([0, []]);
      expect(await rowOf(enqueued.id)).toMatchObject({ status: 'succeeded' });
    },
  );

  it('production refuses it, and test destinations', async () => {
    const options = {
      namespace: newNamespace(),
      destination: WebhookDestination.approvedHttps('https://a.example/'),
      quota: 1,
    };
    const offline = new WebhookSigningKey('k', '');
    await expect(app.outboxes.open(new WebhookConfig(options).requireProduction(), offline)).rejects.toThrow(
      'in production',
    );
    expect(() => new WebhookConfig({ ...options, destination: toReceiver() }).requireProduction()).toThrow(
      'in production',
    );
  });
});

describe('looking and clearing', () => {
  it('tells of failures their id, kind, attempts, code and time, newest first, and nothing else', async () => {
    const outbox = await open();
    const ids = [await enqueue(outbox, 'a'), await enqueue(outbox, 'b')];
    receiver.answer(() => 410);
    await drain(outbox);
    expect(await outbox.failed()).toEqual(
      ids
        .toReversed()
        .map((id) => ({ id, kind: 'course.completed', attempts: 1, code: '410', failedAt: expect.any(Date) })),
    );
    expect(await outbox.failed(1)).toHaveLength(1);
    for (const bad of [0, 101, 1.5]) await expect(outbox.failed(bad)).rejects.toMatchObject({ code: 'WEBHOOK_INPUT' });
  });

  it('keeps what has ended until it is purged: a hundred at a time, never what is active, and never before a window has passed', async () => {
    const outbox = await open({ quota: 200, window: '1h' });
    const ids: string[] = [];
    await app.dataSource.transaction(async (tx) => {
      for (let count = 0; count < 104; count += 1)
        ids.push((await outbox.enqueue(tx, `k-${count}`, 'a', json(count))).id);
    });
    const channel = `webhooks.${outbox.namespace}`;
    const uuids = ids.map(uuidOf);
    await database.query(
      `UPDATE deliveries.deliveries SET status = 'succeeded', settled_at = clock_timestamp() WHERE id = ANY ($1)`,
      [uuids.slice(0, 102)],
    );
    await database.query(
      `UPDATE deliveries.deliveries SET created_at = created_at - interval '2 h' WHERE id = ANY ($1)`,
      [uuids.slice(0, 103)],
    );
    const hourAgo = new Date(Date.now() - 3_600_500);
    await expect(outbox.purgeTerminal(new Date(Date.now() - 3_590_000))).rejects.toMatchObject({
      code: 'WEBHOOK_INPUT',
    });
    await expect(outbox.purgeTerminal(hourAgo, 101)).rejects.toMatchObject({ code: 'WEBHOOK_INPUT' });
    expect(await outbox.purgeTerminal(hourAgo)).toBe(100);
    expect(await outbox.purgeTerminal(hourAgo)).toBe(2);
    expect(await outbox.purgeTerminal(hourAgo)).toBe(0);
    const left = await database.query(`SELECT id FROM deliveries.deliveries WHERE channel = $1 ORDER BY id`, [channel]);
    expect(left.map(({ id }) => id)).toEqual(uuids.slice(102));
    const [{ retained }] = (await database.query(
      `SELECT retained FROM deliveries.webhook_namespaces WHERE namespace = $1`,
      [outbox.namespace],
    )) as [{ retained: number }];
    expect(retained).toBe(2);
    // The proof is gone with it: the same key is new again.
    const again = await app.dataSource.transaction((tx) => outbox.enqueue(tx, 'k-0', 'a', json('other')));
    expect(again).toMatchObject({ duplicate: false });
  });

  it('namespaces know nothing of each other', async () => {
    const [one, other] = [await open(), await open()];
    const id = await enqueue(one, 'same');
    expect(await enqueue(other, 'same', json('different'))).not.toBe(id);
    await expect(other.cancel(id)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
    await expect(other.retryFailed(id)).rejects.toMatchObject({ code: 'WEBHOOK_NOT_FOUND' });
    receiver.answer(() => 400);
    await one.dispatchNext('w');
    expect(await other.failed()).toEqual([]);
    expect((await one.failed()).map((event) => event.id)).toEqual([id]);
  });
});
