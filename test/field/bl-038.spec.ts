import { DeliveryNotFoundError, DeliveryStateError, failed, retry, succeeded } from 'nest-deliveries';
import { randomUUID } from 'node:crypto';
import { countOf } from '../deliveries/ended-rows';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { gate, until } from '../faults/support/facts';
import { rowOf } from '../faults/support/rows';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let app: DeliveriesApp;

const actor = 'ops';

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await app.close();
  await database.drop();
});

it('BL-038: a retry or a cancel changes only the documented states, and never disturbs a live claim', async () => {
  const channel = scriptedChannel({
    name: 'mail',
    maxAge: '1d',
    sendTimeout: '20s',
    lease: '60s',
    retry: { first: '1h', max: '1h' },
  });
  const send = gate();
  channel.on('in flight', async () => {
    await send.passed;
    return succeeded();
  });
  channel.on('backing off', () => retry(503));
  channel.on('failed', () => failed(410));
  app = await startDeliveriesApp(database.url, [channel.type], { cleanUpInterval: false });

  const notBefore = new Date(Date.now() + 3_600_000);
  const sent = async (script: string, more = {}): Promise<string> => {
    const id = await enqueueOne(app, channel, { script }, more);
    await until(`it is ${script}`, async () => {
      const { status, last_error: error, claim_token: token } = await rowOf(database, id);
      return script === 'in flight' ? token !== null : error !== null || status === script;
    });
    return id;
  };
  const cancelled = async (id: string): Promise<string> => {
    await app.operations.cancel(id, { actor: 'somebody before' });
    return id;
  };
  const expired = async (id: string): Promise<string> => {
    await database.query("UPDATE deliveries.deliveries SET last_error = 'expired' WHERE id = $1", [id]);
    return id;
  };
  const states: Record<string, () => Promise<string>> = {
    pending: () => enqueueOne(app, channel, {}, { notBefore }),
    'backing off': () => sent('backing off'),
    'in flight': () => sent('in flight'),
    succeeded: () => sent('succeeded'),
    failed: () => sent('failed'),
    expired: async () => expired(await sent('failed')),
    cancelled: async () => cancelled(await enqueueOne(app, channel, {}, { notBefore })),
    'cancelled, ordered': async () => cancelled(await sent('backing off', { orderingKey: randomUUID() })),
  };
  /** What became of it: the answer, whether the row is as it was, and how often it was written down. */
  const tried = async (operation: 'retry' | 'cancel', make: () => Promise<string>): Promise<unknown[]> => {
    const id = await make();
    const before = await rowOf(database, id);
    const answer = await app.operations[operation](id, { actor }).then(
      () => 'done',
      (error: unknown) =>
        error instanceof DeliveryStateError ? `${error.status}${error.inFlight ? ', in flight' : ''}` : error,
    );
    const same = JSON.stringify(await rowOf(database, id)) === JSON.stringify(before);
    return [
      answer,
      same ? 'as it was' : 'changed',
      await countOf(database, 'events', `delivery_id = '${id}' AND actor = '${actor}'`),
    ];
  };
  const found: Record<string, unknown> = {};
  for (const [state, make] of Object.entries(states)) {
    found[state] = [await tried('retry', make), await tried('cancel', make)];
  }
  const done = ['done', 'changed', 1];
  const refused = (state: string): unknown[] => [state, 'as it was', 0];
  expect(found).toEqual({
    pending: [refused('pending'), done],
    'backing off': [refused('pending'), done],
    'in flight': [refused('pending, in flight'), done],
    succeeded: [refused('succeeded'), refused('succeeded')],
    failed: [done, done],
    expired: [done, done],
    cancelled: [done, refused('cancelled')],
    'cancelled, ordered': [refused('cancelled'), refused('cancelled')],
  });
  await expect(app.operations.retry(randomUUID(), { actor })).rejects.toThrow(DeliveryNotFoundError);
  await expect(app.operations.cancel(randomUUID(), { actor })).rejects.toThrow(DeliveryNotFoundError);
  send.open();
});

it('BL-038: twenty retries in parallel make one new attempt, and a retry and a cancel at once end in one of two ways', async () => {
  const channel = scriptedChannel({ name: 'mail', maxAge: '1d' });
  channel.on('fails once', (_, { number }) => (number === 1 ? failed(410) : succeeded()));
  app = await startDeliveriesApp(database.url, [channel.type], { cleanUpInterval: false }, 20);
  const id = await enqueueOne(app, channel, { script: 'fails once' });
  await until('it has failed', async () => (await rowOf(database, id)).status === 'failed');
  // Each of them has seen the failure before the first can change it.
  await database.query('BEGIN');
  await database.query('SELECT FROM deliveries.deliveries WHERE id = $1 FOR UPDATE', [id]);
  const retries = Array.from({ length: 20 }, (_, n) => app.operations.retry(id, { actor: `operator ${n}` }));
  const answered = Promise.allSettled(retries);
  await until('all wait for the row', async () => {
    const waiting = await database.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    // In a transaction, the activity of others is read once, and then remembered.
    await database.query('SELECT pg_stat_clear_snapshot()');
    return waiting.length === 20;
  });
  await database.query('COMMIT');
  const answers = await answered;
  const reasons = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as Error] : []));
  expect(reasons.map(({ name }) => name)).toEqual(Array.from({ length: 19 }, () => 'DeliveryStateError'));
  await until('it has arrived', async () => (await rowOf(database, id)).status === 'succeeded');
  expect(channel.calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
  expect(await countOf(database, 'events', `delivery_id = '${id}'`)).toBe(1);

  const contested = await enqueue(
    app,
    channel,
    Array.from({ length: 20 }, () => ({ script: 'fails once' })),
  );
  await until('all have failed', async () => (await countOf(database, 'deliveries', "status = 'failed'")) === 20);
  await Promise.allSettled(
    contested.flatMap((one) => [app.operations.retry(one, { actor }), app.operations.cancel(one, { actor })]),
  );
  await until('none is pending', async () => (await countOf(database, 'deliveries', "status = 'pending'")) === 0);
  const ended = await database.query<{ status: string; history: string }>(
    `SELECT d.status, string_agg(e.type, ', ' ORDER BY e.occurred_at) AS history
       FROM deliveries.deliveries d JOIN deliveries.events e ON e.delivery_id = d.id
      WHERE d.id = ANY($1::uuid[]) GROUP BY d.id`,
    [contested],
  );
  // Retried, and then sent before the cancel came, or cancelled; or cancelled first, and then revived.
  const possible = new Set([
    'succeeded after delivery_retried',
    'cancelled after delivery_retried, delivery_cancelled',
    'succeeded after delivery_cancelled, delivery_retried',
  ]);
  expect(ended).toHaveLength(20);
  expect(ended.map(({ status, history }) => `${status} after ${history}`).filter((end) => !possible.has(end))).toEqual(
    [],
  );
});
