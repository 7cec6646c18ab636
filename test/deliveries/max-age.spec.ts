import { retry, succeeded } from 'nest-deliveries';
import { enqueue, enqueueOne } from '../faults/support/enqueue';
import { until } from '../faults/support/facts';
import { type Line, lineTo } from '../faults/support/line';
import { attemptsOf, rowOf, rowsOf } from '../faults/support/rows';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';

let database: TestDatabase;
let app: DeliveriesApp;
let line: Line | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  line?.thaw();
  await app.close();
  await line?.close();
  line = undefined;
  await database.drop();
});

/** Recorded an hour ahead, so that its data can be moved before a worker sees it; then made due. */
const ahead = (): { notBefore: Date } => ({ notBefore: new Date(Date.now() + 3_600_000) });
const release = (id: string, and: string): Promise<unknown> =>
  database.query(`UPDATE deliveries.deliveries SET due_at = clock_timestamp(), ${and} WHERE id = $1`, [id]);

const untilEnded = (ids: readonly string[]): Promise<unknown> =>
  until('all have ended', async () => (await rowsOf(database, ids)).every(({ status }) => status !== 'pending'));

it('fails what waited longer than maxAge, or past its deadline, without a send; an operator retry starts the age anew', async () => {
  const channel = scriptedChannel({ name: 'mail', maxAge: '1h' });
  app = await startDeliveriesApp(database.url, [channel.type]);
  const [old, justInTime, retried, retriedLongAgo] = (await enqueue(app, channel, [{}, {}, {}, {}], ahead())) as [
    string,
    string,
    string,
    string,
  ];
  const overdue = await enqueueOne(app, channel, {}, { ...ahead(), deadline: new Date(Date.now() + 7_200_000) });
  await release(old, `created_at = created_at - interval '3601 s'`);
  await release(justInTime, `created_at = created_at - interval '3540 s'`);
  await release(
    retried,
    `created_at = created_at - interval '2 d', retried_at = clock_timestamp() - interval '3540 s'`,
  );
  await release(
    retriedLongAgo,
    `created_at = created_at - interval '2 d', retried_at = clock_timestamp() - interval '3601 s'`,
  );
  await release(overdue, `deadline = clock_timestamp() - interval '1 ms', retried_at = clock_timestamp()`);
  const expired = [old, retriedLongAgo, overdue];
  await untilEnded([...expired, justInTime, retried]);

  for (const row of await rowsOf(database, expired)) {
    expect(row).toMatchObject({ status: 'failed', last_error: 'expired', attempts: 1, claim_token: null });
    expect(row.settled_at).not.toBeNull();
  }
  expect(await attemptsOf(database, ...expired)).toEqual(
    expired.map(() => ({ number: 1, outcome: 'failed', error: 'expired' })),
  );
  expect((await rowsOf(database, [justInTime, retried])).map(({ status }) => status)).toEqual([
    'succeeded',
    'succeeded',
  ]);
  expect(channel.calls.map(({ id }) => id).toSorted()).toEqual([justInTime, retried].toSorted());
  await until('all are counted', () => app.tally.of('mail').failed === 3 && app.tally.of('mail').succeeded === 2);
  expect(app.tally.of('mail')).toEqual({ succeeded: 2, retried: 0, failed: 3, lease_lost: 0 });
});

it('fails a retry that would fall later than maxAge or the deadline at once, with the error of the attempt', async () => {
  const channel = scriptedChannel({ name: 'mail', maxAge: '1h', maxAttempts: 3, retry: { first: '10m', max: '10m' } });
  channel.on('busy', () => retry(503, { retryAfter: '600' }));
  app = await startDeliveriesApp(database.url, [channel.type]);
  const recorded = await enqueue(
    app,
    channel,
    Array.from({ length: 6 }, () => ({ script: 'busy' })),
    ahead(),
  );
  const [young, old, retried, retriedLongAgo, tried, triedOut] = recorded as [
    string,
    string,
    string,
    string,
    string,
    string,
  ];
  const short = await enqueueOne(app, channel, { script: 'busy' }, { deadline: new Date(Date.now() + 540_000) });
  await release(young, `created_at = created_at - interval '40 min'`);
  await release(old, `created_at = created_at - interval '51 min'`);
  // An operator's retry starts both the age and the count of attempts anew.
  const daysOld = `created_at = created_at - interval '2 d', retried_at = clock_timestamp()`;
  await release(retried, `${daysOld} - interval '40 min'`);
  await release(retriedLongAgo, `${daysOld} - interval '51 min'`);
  await release(tried, `${daysOld}, attempts = 5, attempts_at_retry = 4`);
  await release(triedOut, `${daysOld}, attempts = 6, attempts_at_retry = 4`);
  const ended = [old, short, retriedLongAgo, triedOut];
  await untilEnded(ended);
  expect(await rowsOf(database, ended)).toMatchObject(
    [1, 1, 1, 7].map((attempts) => ({ status: 'failed', last_error: '503', attempts })),
  );
  const waiting = [young, retried, tried];
  const rows = await until('the others wait', async () => {
    const found = await rowsOf(database, waiting);
    return found.every(({ last_error }) => last_error === '503') && found;
  });
  expect(rows).toMatchObject([1, 1, 6].map((attempts) => ({ status: 'pending', attempts })));
  expect(channel.calls).toHaveLength(7);
});

it('does not send what expired while the reply to its claim was on the way', async () => {
  line = await lineTo(database.url);
  const channel = scriptedChannel({ name: 'mail', maxAge: '1h', workers: 1 });
  channel.on('', succeeded);
  app = await startDeliveriesApp(database.url, [channel.type], { connection: line.connection, pollInterval: '1h' });
  await enqueueOne(app, channel, {});
  app.workers.wake();
  await until('the first claim is over', () => app.tally.of('mail').succeeded === 1);
  // Far enough ahead that it is claimed before, also on a busy machine.
  const id = await enqueueOne(app, channel, {}, { deadline: new Date(Date.now() + 2_500) });
  const frozen = line.freezeReplyTo('deliveries_claim');
  app.workers.wake();
  await frozen;
  const claimed = await until('the claim is committed', async () => {
    const row = await rowOf(database, id);
    return row.claim_token !== null && row;
  });
  expect(claimed.status).toBe('pending');
  await until('the deadline is over', async () => {
    const [row] = await database.query<{ over: boolean }>(
      `SELECT clock_timestamp() > deadline + interval '20 ms' AS over FROM deliveries.deliveries WHERE id = $1`,
      [id],
    );
    return row!.over;
  });
  line.thaw();
  await untilEnded([id]);
  expect(await rowOf(database, id)).toMatchObject({ status: 'failed', last_error: 'expired' });
  expect(channel.calls).toHaveLength(1);
});
