import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { DeliveryCleaner } from 'nest-deliveries';
import { WebhookConfig, WebhookDestination, type WebhookOutbox } from 'nest-deliveries/webhooks';
import { deliveries, inTurn } from '../cli/support';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTestReceiver, type TestReceiver } from './support/receiver';
import { newKeyring, newSigningKey, startWebhooksApp, type WebhooksApp } from './support/webhooks-app';

// Commands are processes that load Nest and TypeORM: a second and a half of computing each.
jest.setTimeout(120_000);

/** A way by which operators reach what is in a namespace. */
interface Door {
  /** @returns whether it was done; false when it was refused */
  retry(id: string): Promise<boolean>;
  cancel(id: string): Promise<boolean>;
  /** @returns how many were changed */
  retryAll(status?: string): Promise<number>;
  cleanUp(): Promise<void>;
}

const letIn: CanActivate = {
  canActivate(context: ExecutionContext): boolean {
    context.switchToHttp().getRequest<{ user: object }>().user = { name: 'ada' };
    return true;
  },
};

// Nothing else that is deleted is kept for longer than a moment.
const options = {
  run: [],
  admin: { guards: [letIn], dashboard: false },
  retention: { succeeded: 0, failed: 0, cancelled: 0 },
  cleanUpInterval: false,
} as const;

const channel = 'webhooks.school';
let database: TestDatabase;
let receiver: TestReceiver;
let opener: WebhooksApp;
let stranger: WebhooksApp;
let outbox: WebhookOutbox;

beforeEach(async () => {
  database = await createTestDatabase();
  receiver = await startTestReceiver();
  const keyring = newKeyring();
  [opener, stranger] = await Promise.all([
    startWebhooksApp(database.url, { keyring }, options),
    startWebhooksApp(database.url, { keyring }, options),
  ]);
  const destination = WebhookDestination.loopbackTest(receiver.url);
  const config = new WebhookConfig({ namespace: 'school', destination, quota: 10 });
  outbox = await opener.outboxes.open(config, newSigningKey(), { workers: 0 });
});

afterEach(async () => {
  await Promise.all([opener.close(), stranger.close()]);
  receiver.close();
  await database.drop();
});

const uuidOf = (id: string): string => id.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');

async function overHttp(app: WebhooksApp): Promise<Door> {
  await app.module.listen(0, '127.0.0.1');
  const base = `${(await app.module.getUrl()).replace('[::1]', '127.0.0.1')}/admin/deliveries/api`;
  const post = (path: string, body: object = {}): Promise<Response> =>
    fetch(`${base}/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  return {
    retry: async (id) => (await post(`deliveries/${uuidOf(id)}/retry`)).ok,
    cancel: async (id) => (await post(`deliveries/${uuidOf(id)}/cancel`)).ok,
    retryAll: async (status) => {
      const answer = await post('retry', { conditions: { channel, ...(status && { status }) } });
      return ((await answer.json()) as { changed: number }).changed;
    },
    cleanUp: async () => void (await app.module.get(DeliveryCleaner).runOnce()),
  };
}

function byCommand(): Door {
  const run = (...args: string[]): ReturnType<typeof deliveries> => deliveries(args, database.url);
  const done = async (...args: string[]): Promise<boolean> => (await run(...args)).code === 0;
  return {
    retry: (id) => done('retry', uuidOf(id)),
    cancel: (id) => done('cancel', uuidOf(id)),
    retryAll: async (status) => {
      const { stdout } = await run('retry', '--channel', channel, ...(status ? ['--status', status] : []), '--json');
      return (JSON.parse(stdout) as { changed: number }).changed;
    },
    cleanUp: async () => expect((await run('clean-up')).code).toBe(0),
  };
}

const kept = (): Promise<Record<string, unknown>[]> =>
  database.query(
    `SELECT id, created_at, deadline, payload, dedupe_key FROM deliveries.deliveries WHERE channel = $1 ORDER BY id`,
    [channel],
  );

/** One that waits, one that was accepted, one that failed, one that did and is past its window, and one that was cancelled. */
async function fillNamespace(): Promise<Record<'waiting' | 'failed' | 'cancelled', string>> {
  const enqueue = async (key: string): Promise<string> => {
    const { id } = await opener.dataSource.transaction((tx) => outbox.enqueue(tx, key, 'a', Buffer.from('{}')));
    return id;
  };
  await enqueue('accepted');
  await outbox.dispatchNext('w');
  receiver.answer(() => 400);
  const [failed, expired] = [await enqueue('failed'), await enqueue('expired')];
  await outbox.dispatchNext('w');
  await outbox.dispatchNext('w');
  const [cancelled, waiting] = [await enqueue('cancelled'), await enqueue('waiting')];
  await outbox.cancel(cancelled);
  await database.query(`UPDATE deliveries.deliveries SET deadline = clock_timestamp() WHERE id = $1`, [
    uuidOf(expired),
  ]);
  await database.query(`UPDATE deliveries.deliveries SET settled_at = settled_at - interval '900 d'`);
  receiver.answer(() => 204);
  receiver.arrivals.splice(0);
  return { waiting, failed, cancelled };
}

it.each<[string, () => Door | Promise<Door>]>([
  ['the admin API of a process that opened it', () => overHttp(opener)],
  ['the admin API of a process that did not', () => overHttp(stranger)],
  ['the command line', byCommand],
])('%s keeps the rules of a namespace', async (_, open) => {
  const door = await open();
  const { waiting, failed, cancelled } = await fillNamespace();
  const before = await kept();
  const answers = await inTurn<unknown>([
    () => door.retry(cancelled),
    () => door.retryAll('cancelled'),
    () => door.retryAll(),
    () => door.cancel(waiting),
    () => door.cleanUp(),
  ]);
  // Nothing cancelled, accepted or expired comes back, one by one or in bulk; what failed within its window does.
  expect(answers.slice(0, 4)).toEqual([false, 0, 1, true]);
  await expect(outbox.retryFailed(waiting)).rejects.toMatchObject({ code: 'WEBHOOK_STATE' });
  // No deadline has moved, and no retention has taken anything, not even of 900 days ago.
  expect(await kept()).toEqual(before);
  expect(before).toHaveLength(5);
  expect(await database.query('SELECT retained FROM deliveries.webhook_namespaces')).toEqual([{ retained: 5 }]);
  expect(await outbox.dispatchNext('w')).toEqual({ type: 'accepted', id: failed, offline: false });
  expect(await outbox.dispatchNext('w')).toEqual({ type: 'idle' });
  expect(receiver.arrivals.map(({ headers }) => headers['rullst-webhook-id'])).toEqual([failed]);
});

it('no option of the host loosens them: a namespace is no channel that options could name', async () => {
  const loose = { [channel]: { retention: { failed: '1s' }, revivesCancelled: true, maxAttempts: 99 } } as const;
  const start = startWebhooksApp(database.url, { keyring: newKeyring() }, { ...options, channels: loose });
  await expect(start).rejects.toThrow('names channel "webhooks.school", which no class of this application declares');
});
