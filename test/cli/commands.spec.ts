import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { userInfo } from 'node:os';
import { json } from 'node:stream/consumers';
import { insertDeliveries } from '../admin/support/table';
import { countOf } from '../deliveries/ended-rows';
import { countByStatus } from '../faults/support/rows';
import { until } from '../faults/support/facts';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { startTcpProxy } from '../support/tcp-proxy';
import { spawnTs } from '../support/ts-child';
import { deliveries, expectEnds, expectOneLine } from './support';

// Each command is a process that loads Nest and TypeORM: a second and a half of computing.
jest.setTimeout(180_000);

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  await database.query(
    'TRUNCATE deliveries.deliveries, deliveries.delivery_attempts, deliveries.events, deliveries.delivery_pauses',
  );
});
afterAll(() => database.drop());

/** A command that works, with `--json`: one document, nothing else, and an end soon after it. */
async function answerOf<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr, lingered } = await deliveries([...args, '--json'], database.url);
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  expect(lingered).toBeLessThan(5_000);
  return JSON.parse(stdout) as T;
}

interface Listed {
  readonly deliveries: readonly { readonly id: string; readonly destination: string }[];
}

it('does what operators do, says so in one document, and records who did it; no worker runs in its process', async () => {
  await insertDeliveries(database, { count: 5, status: 'failed', error: "'410'" });
  await insertDeliveries(database, { count: 3, status: 'failed', error: "'503'" });
  await insertDeliveries(database, { count: 2, age: "interval '8 days'" });
  // Due, in a channel that the application knows: a worker would take it at once.
  await insertDeliveries(database, { count: 1, status: 'pending', channel: 'partner_notification' });

  const listed = await answerOf<Listed>(
    'list',
    '--status',
    'failed',
    '--error',
    '410',
    '--newer-than',
    '1h',
    '--limit',
    '3',
  );
  expect(listed.deliveries.map(({ destination }) => destination)).toEqual(['customer 1', 'customer 2', 'customer 3']);
  const [one, other] = listed.deliveries.map(({ id }) => id);
  const [shown, retried, cancelled] = await Promise.all([
    answerOf<object>('show', one!),
    answerOf<object>('retry', one!, '--actor', 'ada'),
    answerOf<object>('cancel', other!),
  ]);
  expect(shown).toMatchObject({ id: one, status: expect.any(String), payload: null, attemptRows: [] });
  expect(retried).toEqual({ id: one, dueAt: expect.any(String), restartedBehind: 0 });
  expect(cancelled).toEqual({ id: other, was: 'failed', wasInFlight: false });
  const [count, stats] = await Promise.all([
    answerOf<object>('retry', '--channel', 'mail', '--dry-run'),
    answerOf<{ channels: { channel: string }[] }>('stats'),
  ]);
  expect(count).toMatchObject({ count: 6, capped: false });
  expect(stats.channels.map(({ channel }) => channel)).toEqual([
    'announcement',
    'backchannel_logout',
    'email',
    'mail',
    'partner_notification',
    'webhooks',
  ]);
  expect(await answerOf('retry', '--channel', 'mail', '--error', '503', '--spread-over', '1h')).toEqual({
    changed: 3,
    busy: 0,
  });
  expect(await answerOf('pause', 'partner_notification', '--lane', 'l', '--for', '1h')).toMatchObject({ lane: 'l' });
  const [resumed, cleaned] = await Promise.all([
    answerOf<object[]>('resume', 'partner_notification', '--lane', 'l'),
    answerOf<object>('clean-up'),
  ]);
  expect(resumed).toHaveLength(1);
  expect(cleaned).toMatchObject({ complete: true });

  const actors = await database.query(
    'SELECT type, actor, count(*)::integer AS n FROM deliveries.events WHERE audit GROUP BY 1, 2 ORDER BY 1, 2',
  );
  const me = userInfo().username;
  expect(actors).toEqual([
    { type: 'channel_paused', actor: me, n: 1 },
    { type: 'channel_resumed', actor: me, n: 1 },
    { type: 'delivery_cancelled', actor: me, n: 1 },
    { type: 'delivery_retried', actor: 'ada', n: 1 },
    { type: 'delivery_retried', actor: me, n: 3 },
  ]);
  expect(
    await countOf(database, 'deliveries', "channel = 'partner_notification' AND attempts = 1 AND status = 'pending'"),
  ).toBe(1);
});

it('prints tables for people, in which nothing that was recorded is a command for their terminal', async () => {
  await insertDeliveries(database, { count: 1, status: 'failed', error: "'410'" });
  await database.query("UPDATE deliveries.deliveries SET destination = E'a\\u001b[2Jb\\nc\\u202ed'");
  const [list, document] = await Promise.all([
    deliveries(['list'], database.url),
    deliveries(['list', '--json'], database.url),
  ]);
  expect(list.stdout).toMatch(
    /^CREATED +STATUS +CHANNEL +DESTINATION +KEY +ATTEMPTS +ERROR +DUE +ID\n\d{4}-\S+Z +failed +mail +a\\u001b\[2Jb\\u000ac\\u202ed +- +1 +410 +- +[0-9a-f-]{36}\n$/,
  );
  expect(['\u001b', '\u202e'].filter((character) => document.stdout.includes(character))).toEqual([]);
  expect((JSON.parse(document.stdout) as Listed).deliveries[0]!.destination).toBe('a\u001b[2Jb\nc\u202ed');
});

it('tells by its exit code whether it was done, was refused, or was not understood', async () => {
  await insertDeliveries(database, { count: 1, status: 'pending' });
  const [{ id }] = (await database.query('SELECT id FROM deliveries.deliveries')) as [{ id: string }];
  await expectEnds(database.url, [
    [1, /^deliveries: Delivery \S+ is pending: no retry/, ['retry', id]],
    [2, /^error: unknown option '--statu'/, ['list', '--statu', 'failed']],
    [2, /^deliveries: status must be failed or cancelled/, ['retry', '--status', 'pending']],
    [2, /^deliveries: createdBefore must be a date/, ['cancel', '--created-before', '2026-02-31']],
  ]);
  expect(await countByStatus(database)).toEqual({ pending: 1 });
});

describe('BL-045: a command ends', () => {
  it('within 10 s when the port is closed, when nobody answers, when it may not come in, and when the line is lost or frozen midway', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    let askedAt = 0;
    silent.once('connection', () => (askedAt = performance.now()));
    const [cut, frozen] = await Promise.all([throughProxy('cut'), throughProxy('freeze')]);
    const stranger = new URL(database.url);
    stranger.username = 'nobody_knows_me';
    const [hole, refused, lost, stuck, closed] = await Promise.all([
      deliveries(['stats'], `postgres://127.0.0.1:${port}/x`),
      deliveries(['clean-up'], stranger.toString()),
      deliveries(['list'], cut.url),
      deliveries(['list'], frozen.url),
      deliveries(['retry', '--status', 'failed'], 'postgres://127.0.0.1:1/x'),
    ]);
    silent.close();
    await Promise.all([cut.close(), frozen.close()]);
    expectOneLine(hole, /PostgreSQL cannot be reached|did not answer/);
    expectOneLine(refused, /PostgreSQL cannot be reached: .*nobody_knows_me/);
    expectOneLine(lost, /PostgreSQL cannot be reached/);
    expectOneLine(stuck, /PostgreSQL did not answer within 5 s/);
    expectOneLine(closed, /PostgreSQL cannot be reached: connect ECONNREFUSED/);
    // From the question on: how long a process takes to load depends on what else the machine does.
    expect(hole.endedAt - askedAt).toBeLessThan(10_000);
    expect(stuck.endedAt - frozen.reachedAt()).toBeLessThan(10_000);
    for (const { lingered } of [hole, refused, lost, stuck, closed]) expect(lingered).toBeLessThan(5_000);
  });

  /** The database behind a line that is good until the first statement of a read. */
  async function throughProxy(
    fault: 'cut' | 'freeze',
  ): Promise<{ url: string; reachedAt: () => number; close: () => Promise<void> }> {
    const url = new URL(database.url);
    const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
    url.port = String(proxy.port);
    let reachedAt = 0;
    const reached = proxy.freezeAfter((chunk, from) => from === 'client' && chunk.includes('statement_timeout ='));
    void (async () => {
      await reached;
      reachedAt = performance.now();
      if (fault === 'cut') proxy.cut();
    })();
    return { url: url.toString(), reachedAt: () => reachedAt, close: () => proxy.close() };
  }

  it('when its reader has seen enough of 5 MB, and not before a slow one has seen it all', async () => {
    await insertDeliveries(database, { count: 12_000 });
    const args = ['list', '--limit', '100000', '--json'];
    const start = () =>
      spawnTs('src/cli.ts', { args, env: { DATABASE_URL: database.url }, stdio: ['ignore', 'pipe', 'pipe'] });

    const head = start();
    const headEnd = once(head, 'close');
    let words = '';
    head.stderr!.setEncoding('utf8').on('data', (text: string) => (words += text));
    await once(head.stdout!, 'readable');
    expect((head.stdout!.read(10) as Buffer).toString()).toBe('{\n  "deliv');
    head.stdout!.destroy();
    expect(await headEnd).toEqual([0, null]);
    expect(words).toBe('');

    const slow = start();
    const slowEnd = once(slow, 'close');
    // What is not read fills the buffer of this stream, and then the pipe: the command has to wait.
    await once(slow.stdout!, 'readable');
    await until('the buffer is full', () => slow.stdout!.readableLength >= slow.stdout!.readableHighWaterMark);
    expect(slow.exitCode).toBeNull();
    const document = (await json(slow.stdout!)) as Listed;
    expect(document.deliveries).toHaveLength(12_000);
    expect(await slowEnd).toEqual([0, null]);
  });
});
