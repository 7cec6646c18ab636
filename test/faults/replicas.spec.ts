import type { ServerResponse } from 'node:http';
import type { DeliveriesOptions } from 'nest-deliveries';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { until } from './support/facts';
import { type Line, lineTo } from './support/line';
import { accept, type Receiver, startReceiver } from './support/receiver';
import { recordFor, type Replica, type ReplicaOrder, startReplica } from './support/replica';
import { attemptsOf, countByStatus, expireLease, rowOf, rowsOf } from './support/rows';

const options: DeliveriesOptions = {
  migrate: false,
  pollInterval: 100,
  sendTimeout: '20s',
  lease: '60s',
  retry: { first: 100, max: '5s' },
};

let database: TestDatabase;
let receiver: Receiver;
let line: Line | undefined;
const replicas: Replica[] = [];

beforeEach(async () => {
  [database, receiver] = await Promise.all([createTestDatabase(), startReceiver()]);
});

afterEach(async () => {
  for (const { child } of replicas) child.kill('SIGKILL');
  await Promise.all(replicas.splice(0).map(({ ended }) => ended));
  await receiver.close();
  await line?.close();
  line = undefined;
  await database.drop();
});

function replica(order: Partial<ReplicaOrder> = {}): Replica {
  const started = startReplica({
    url: database.url,
    receiver: receiver.url,
    ...order,
    options: { ...options, ...order.options },
  });
  replicas.push(started);
  return started;
}

/** Keeps the responses of the receiver until they are asked for. */
function holdResponses(): ServerResponse[] {
  const held: ServerResponse[] = [];
  receiver.answer = (_, response) => void held.push(response);
  return held;
}

it('sends the same delivery id again within lease and poll after SIGKILL between send and settle', async () => {
  const held = holdResponses();
  const first = replica();
  const [id] = await recordFor(database, [{}]);
  await until('the receiver has it', () => held.length === 1, 30_000);
  first.kill('SIGKILL');
  expect(await first.ended).toBe('SIGKILL');
  receiver.answer = accept;
  const second = replica();
  await second.ready;
  // While the lease lasts, nobody else takes it.
  expect(await rowOf(database, id!)).toMatchObject({ status: 'pending', attempts: 1 });
  expect(receiver.arrivals).toHaveLength(1);
  await expireLease(database, id!);
  const moved = Date.now();
  await until('it has arrived', async () => (await rowOf(database, id!)).status === 'succeeded');
  // A poll of 100 ms, its jitter, and a machine with other things to do; the lease was one of 60 s.
  expect(receiver.of(id!)[1]!.at - moved).toBeLessThan(10_000);
  expect(receiver.of(id!).map(({ attempt, pid }) => ({ attempt, pid }))).toEqual([
    { attempt: 1, pid: first.pid },
    { attempt: 2, pid: second.pid },
  ]);
  expect(await attemptsOf(database, id!)).toEqual([{ number: 1, outcome: 'crashed', error: 'crashed' }]);
  expect(await rowOf(database, id!)).toMatchObject({ attempts: 2, crashes: 1 });
});

it('drops the late outcome of a replica that was stopped past its lease, and keeps the newer one', async () => {
  const held = holdResponses();
  const stopped = replica();
  const [id] = await recordFor(database, [{}]);
  await until('the receiver has it', () => held.length === 1, 30_000);
  stopped.kill('SIGSTOP');
  held[0]!.end();
  receiver.answer = (_, response) => void response.writeHead(503).end();
  const other = replica({ options: { retry: { first: '1h', max: '1h' } } });
  await other.ready;
  await expireLease(database, id!);
  const newer = await until('the other one has settled it', async () => {
    const row = await rowOf(database, id!);
    return row.last_error === '503' && row;
  });

  stopped.kill('SIGCONT');
  await until('the late outcome is counted as lost', async () => (await stopped.tally()).lease_lost === 1);
  expect(await stopped.tally()).toEqual({ succeeded: 0, retried: 0, failed: 0, lease_lost: 1 });
  expect(await rowOf(database, id!)).toEqual(newer);
  expect(newer).toMatchObject({ status: 'pending', attempts: 2, crashes: 1 });
  expect(stopped.lines().filter((text) => text.includes(id!) && text.includes('lost lease'))).toHaveLength(1);
  expect(await other.tally()).toEqual({ succeeded: 0, retried: 1, failed: 0, lease_lost: 0 });
});

it('at SIGTERM stores the outcomes of sends in flight, gives a claim just committed back, and exits with 0', async () => {
  line = await lineTo(database.url);
  const held = holdResponses();
  const one = replica({ url: line.url, hostUrl: database.url, options: { workers: 1, shutdownGrace: '15s' } });
  const inFlight = await recordFor(database, [{}, {}]);
  await until('both are in flight', () => held.length === 2, 30_000);
  const claimed = await recordAndClaim();
  one.kill('SIGTERM');
  await until('it is stopping', () => one.isStopping());
  for (const response of held) response.end();
  line.thaw();
  expect(await one.ended).toBe(0);
  expect((await rowsOf(database, inFlight)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  expect(await rowOf(database, claimed)).toMatchObject({
    status: 'pending',
    attempts: 0,
    crashes: 0,
    claim_token: null,
    lease_expires_at: null,
  });
  expect(receiver.arrivals).toHaveLength(2);
  expect(one.lines().filter((text) => /ERROR|WARN|Warning|unhandled/i.test(text))).toEqual([]);
});

/** A delivery whose claim is committed while the reply to it is frozen. */
async function recordAndClaim(): Promise<string> {
  // A worker that asks whether something waits has, as a rule, no claim under way that could take it unseen.
  await line!.freezeReplyTo('deliveries_waiting');
  const [id] = await recordFor(database, [{}]);
  for (;;) {
    const frozen = line!.freezeReplyTo('deliveries_claim');
    line!.thaw();
    await frozen;
    await until('no statement runs', async () => {
      const [row] = await database.query<{ running: number }>(
        `SELECT count(*)::integer AS running FROM pg_stat_activity
          WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()`,
      );
      return row!.running === 0;
    });
    // Otherwise it was a claim that looked before the insert, or one of lanes: the next one is held as well.
    if ((await rowOf(database, id!)).claim_token !== null) return id!;
  }
}

// With 'at once', the process ends before anything else of the same claim could be sent or given back. Where in a claim it
// stands differs as well. A start takes more than a second: two of the crashes are written into the data, except in the long
// run.
it.each([['at once', 5] as const, ...(process.env.TEST_LONG ? [['sent', 0] as const] : [])])(
  'BL-013: lets a delivery that ends its process (%s) fail as crashed, and the 20 beside it arrive',
  async (boom, place) => {
    const payloads = Array.from({ length: 21 }, (_, index) => (index === place ? { boom } : {}));
    const poison = (await recordFor(database, payloads))[place];
    const written = process.env.TEST_LONG ? 0 : 2;
    let starts = 0;
    let over = false as boolean;
    // The supervisor; and in the place of waiting for leases, the data is moved after each crash.
    const supervisor = (async () => {
      for (;;) {
        starts += 1;
        const running = replica();
        const end = await Promise.race([running.ended, until('it is over', () => over, 60_000)]);
        if (over || end === true) return;
        expect(end).toBe(1);
        await database.query(
          `UPDATE deliveries.deliveries
              SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp(), crashes = crashes + $1
            WHERE claim_token IS NOT NULL`,
          [starts === 1 ? written : 0],
        );
      }
    })();
    await until('all have ended', async () => ((await countByStatus(database))['pending'] ?? 0) === 0, 60_000).finally(
      () => (over = true),
    );
    await supervisor;
    expect(await countByStatus(database)).toEqual({ succeeded: 20, failed: 1 });
    expect(await rowOf(database, poison!)).toMatchObject({
      status: 'failed',
      last_error: 'crashed',
      crashes: 6,
      attempts: 7 - written,
    });
    expect(starts).toBe(7 - written);
    expect(receiver.of(poison!)).toHaveLength(boom === 'sent' ? 6 - written : 0);
    // From the third crash on it is alone: no other claim was held when the process ended.
    const [lastCrashes] = await database.query<{ most: number }>(
      'SELECT max(crashes) AS most FROM deliveries.deliveries WHERE id <> $1',
      [poison],
    );
    expect(lastCrashes!.most).toBeLessThanOrEqual(3);
    expect(await attemptsOf(database, poison!)).toEqual([
      ...Array.from({ length: 6 - written }, (_, index) => ({
        number: index + 1,
        outcome: 'crashed',
        error: 'crashed',
      })),
      { number: 7 - written, outcome: 'failed', error: 'crashed' },
    ]);
  },
  90_000,
);

it('ends by itself after app.close(), also when a channel that ignores its signal never returns', async () => {
  const one = replica({ options: { shutdownGrace: 100 }, noHooks: true });
  const [id] = await recordFor(database, [{ deaf: true }]);
  await until('it is in flight', () => receiver.arrivals.length === 1, 30_000);
  const began = performance.now();
  one.child.send('close');
  expect(await one.ended).toBe(0);
  // The grace, a second for the channel, and the connections: not the 20 s of the attempt, not the 60 s of the lease.
  expect(performance.now() - began).toBeLessThan(15_000);
  expect(await rowOf(database, id!)).toMatchObject({ status: 'pending', last_error: 'shutdown', claim_token: null });
});
