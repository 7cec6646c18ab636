import { randomBytes } from 'node:crypto';
import {
  WebhookConfig,
  WebhookDestination,
  WebhookKeyring,
  WebhookSigningKey,
  WebhookStorageKey,
  type WebhookOutbox,
} from 'nest-deliveries/webhooks';
import { ChannelRegistry } from '../../libs/deliveries/src/channel/channel-registry';
import { WorkerDatabase } from '../../libs/deliveries/src/database/worker-database';
import { gate, until } from '../faults/support/facts';
import { lineTo, type Line } from '../faults/support/line';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { runTs } from '../support/ts-child';
import { startTestReceiver, type TestReceiver } from './support/receiver';
import { newKeyring, newSigningKey, startWebhooksApp, type WebhooksApp } from './support/webhooks-app';

// One of them starts processes that load Nest and TypeORM.
jest.setTimeout(180_000);

let database: TestDatabase;
let receiver: TestReceiver;
let app: WebhooksApp;
let line: Line | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
  receiver = await startTestReceiver();
});

afterEach(async () => {
  line?.thaw();
  await app.close();
  await line?.close();
  line = undefined;
  receiver.close();
  await database.drop();
});

const configOf = (namespace = 'school'): WebhookConfig =>
  new WebhookConfig({ namespace, destination: WebhookDestination.loopbackTest(receiver.url), quota: 10 });

const enqueue = (outbox: WebhookOutbox, key: string): Promise<{ id: string; duplicate: boolean }> =>
  app.dataSource.transaction((tx) => outbox.enqueue(tx, key, 'a', Buffer.from('{}')));

it('a fresh process delivers what was recorded, and a second one sees that it was acknowledged', async () => {
  const [signing, storage] = [randomBytes(32), randomBytes(32)];
  const keyring = new WebhookKeyring(new WebhookStorageKey('storage-1', storage));
  app = await startWebhooksApp(database.url, { keyring });
  const key = new WebhookSigningKey('key-1', signing.toString('base64url'));
  const outbox = await app.outboxes.open(configOf(), key, { workers: 0 });
  const { id } = await enqueue(outbox, 'k');
  await outbox.close();
  const task = {
    url: database.url,
    namespace: 'school',
    destination: receiver.url,
    signingKey: signing.toString('base64url'),
    storageKey: storage.toString('base64'),
  };
  const run = async (): Promise<unknown> => {
    const env = { TASK: JSON.stringify(task), NODE_ENV: undefined };
    const { code, stdout, stderr } = await runTs('test/webhooks/support/dispatch.child.ts', { env });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return JSON.parse(stdout);
  };
  expect(await run()).toEqual([{ type: 'accepted', id, offline: false }, { type: 'idle' }]);
  expect(await run()).toEqual([{ type: 'idle' }]);
  expect(receiver.arrivals.map(({ headers }) => headers['rullst-webhook-id'])).toEqual([id]);
  const again = await app.outboxes.open(configOf(), key, { workers: 0 });
  expect(await enqueue(again, 'k')).toEqual({ id, duplicate: true, offline: false });
});

it('while PostgreSQL is away nothing is sent and callers are told; after it nothing is lost', async () => {
  line = await lineTo(database.url);
  app = await startWebhooksApp(line.url, { keyring: newKeyring() }, { run: [], listen: false });
  const outbox = await app.outboxes.open(configOf(), newSigningKey(), { workers: 0 });
  const { id } = await enqueue(outbox, 'k');
  line.refuse();
  line.cut();
  await expect(outbox.dispatchNext('w')).rejects.toMatchObject({ message: expect.any(String) });
  await expect(enqueue(outbox, 'l')).rejects.toMatchObject({ message: expect.any(String) });
  await expect(outbox.failed()).rejects.toMatchObject({ message: expect.any(String) });
  line.accept();
  expect(await until('it answers again', () => outbox.dispatchNext('w').catch(() => undefined))).toEqual({
    type: 'accepted',
    id,
    offline: false,
  });
  expect(await enqueue(outbox, 'l')).toMatchObject({ duplicate: false });
  expect(receiver.arrivals).toHaveLength(1);
});

describe('when PostgreSQL goes away between the 2xx and its record', () => {
  let outbox: WebhookOutbox;
  let id: string;

  beforeEach(async () => {
    line = await lineTo(database.url);
    app = await startWebhooksApp(line.url, { keyring: newKeyring() }, { run: [], listen: false });
    outbox = await app.outboxes.open(configOf(), newSigningKey(), { workers: 0 });
    ({ id } = await enqueue(outbox, 'k'));
  });

  const away = (): void => {
    line!.refuse();
    line!.cut();
  };

  const rowOf = async (): Promise<{ status: string; attempts: number }> => {
    const [row] = await database.query<{ status: string; attempts: number }>(
      'SELECT status, attempts FROM deliveries.deliveries',
    );
    return row!;
  };

  it('until the lease ends, the error keeps id and status; after it the same bytes come again, under the same id', async () => {
    // In the place of 30 s.
    const channel = app.module
      .get(ChannelRegistry)
      .all()
      .find(({ name }) => name === 'webhooks.school')!;
    Object.assign(channel, { lease: 2_500 });
    receiver.answer(() => {
      away();
      return 202;
    });
    const error = await outbox.dispatchNext('w').catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'WEBHOOK_ACKNOWLEDGEMENT', messageId: id, status: 202 });
    expect(await rowOf()).toEqual({ status: 'pending', attempts: 1 });
    line!.accept();
    receiver.answer(() => 204);
    await database.query(
      'UPDATE deliveries.deliveries SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp()',
    );
    const next = await until('it answers again', () => outbox.dispatchNext('w').catch(() => undefined));
    expect(next).toEqual({ type: 'accepted', id, offline: false });
    const [first, second] = receiver.arrivals;
    expect(second!.headers['rullst-webhook-id']).toBe(first!.headers['rullst-webhook-id']);
    expect(second!.body.equals(first!.body)).toBe(true);
    expect(receiver.arrivals).toHaveLength(2);
  });

  it('and comes back before, it is written down then, and sent once', async () => {
    receiver.answer(() => {
      away();
      return 202;
    });
    const ask = jest.spyOn(app.module.get(WorkerDatabase, { strict: false }), 'query');
    const dispatch = outbox.dispatchNext('w');
    const writes = (): number => ask.mock.calls.filter(([name]) => name.startsWith('deliveries_settle')).length;
    await until('it was tried, and tried again', () => writes() >= 2);
    ask.mockRestore();
    expect(await rowOf()).toEqual({ status: 'pending', attempts: 1 });
    line!.accept();
    expect(await dispatch).toEqual({ type: 'accepted', id, offline: false });
    expect(await rowOf()).toEqual({ status: 'succeeded', attempts: 1 });
    expect(receiver.arrivals).toHaveLength(1);
  });

  it('with its record committed and the reply lost, it counts as accepted, and is sent once', async () => {
    const frozen = line!.freezeReplyTo('deliveries_settle');
    const dispatch = outbox.dispatchNext('w');
    await frozen;
    await until('it is committed', async () => (await rowOf()).status === 'succeeded');
    line!.cut();
    line!.thaw();
    expect(await dispatch).toEqual({ type: 'accepted', id, offline: false });
    expect(await outbox.dispatchNext('w')).toEqual({ type: 'idle' });
    expect(receiver.arrivals).toHaveLength(1);
  });
});

it('what the database does not confirm after resolving is not sent', async () => {
  app = await startWebhooksApp(database.url, { keyring: newKeyring() }, { run: [], listen: false });
  const outbox = await app.outboxes.open(configOf(), newSigningKey(), { workers: 0 });
  const { id } = await enqueue(outbox, 'k');
  const workers = app.module.get(WorkerDatabase, { strict: false });
  const query = workers.query.bind(workers);
  const ask = jest.spyOn(workers, 'query').mockImplementation((name, ...rest) => {
    if (name === 'deliveries_is_held') throw new Error('no answer');
    return query<never>(name, ...rest);
  });
  expect(await outbox.dispatchNext('w')).toEqual({ type: 'retryScheduled', id, code: 'withdrawn' });
  ask.mockRestore();
  expect(receiver.arrivals).toEqual([]);
});

it('a caller that goes away in the middle leaves nothing half done', async () => {
  app = await startWebhooksApp(database.url, { keyring: newKeyring() }, { run: [] });
  const outbox = await app.outboxes.open(configOf(), newSigningKey(), { workers: 0 });
  // An enqueue that nobody awaits, in a transaction that rolls back.
  let left: Promise<unknown> | undefined;
  await app.dataSource
    .transaction(async (tx) => {
      left = outbox.enqueue(tx, 'k', 'a', Buffer.from('{}')).catch(() => undefined);
      throw new Error('gone');
    })
    .catch(() => undefined);
  await left;
  expect(await database.query('SELECT retained FROM deliveries.webhook_namespaces')).toEqual([{ retained: 0 }]);
  // A dispatch that nobody awaits goes on to its end, and a second worker does not send the same.
  const { id } = await enqueue(outbox, 'k');
  const arrived = gate();
  const answered = gate();
  receiver.answer(async () => {
    arrived.open();
    await answered.passed;
    return 200;
  });
  void outbox.dispatchNext('gone');
  await arrived.passed;
  expect(await outbox.dispatchNext('other')).toEqual({ type: 'idle' });
  answered.open();
  await until('it is acknowledged', async () => {
    const rows = await database.query(`SELECT FROM deliveries.deliveries WHERE status = 'succeeded'`);
    return rows.length === 1;
  });
  expect(receiver.arrivals.map(({ headers }) => headers['rullst-webhook-id'])).toEqual([id]);
});

it('a transaction that holds a namespace for too long makes others wait ten seconds, and leaves theirs usable', async () => {
  app = await startWebhooksApp(database.url, { keyring: newKeyring() }, { run: [] });
  const outbox = await app.outboxes.open(configOf(), newSigningKey(), { workers: 0 });
  await database.query(`ALTER FUNCTION deliveries.webhook_take_place SET lock_timeout = '50ms'`);
  const [held, end] = [gate(), gate()];
  const first = app.dataSource.transaction(async (tx) => {
    await outbox.enqueue(tx, 'k', 'a', Buffer.from('{}'));
    held.open();
    await end.passed;
  });
  await held.passed;
  const [code, usable] = await app.dataSource.transaction(async (tx) => {
    const refusal = await outbox.enqueue(tx, 'l', 'a', Buffer.from('{}')).catch((error: unknown) => error);
    return [(refusal as { code: string }).code, await tx.query<unknown>('SELECT 1 AS one')];
  });
  end.open();
  await first;
  expect([code, usable]).toEqual(['WEBHOOK_BUSY', [{ one: 1 }]]);
  expect(await database.query('SELECT retained FROM deliveries.webhook_namespaces')).toEqual([{ retained: 1 }]);
});
