import { failed, retry, succeeded } from 'nest-deliveries';
import { captureLog } from '../faults/support/captured-log';
import { gate, until } from '../faults/support/facts';
import { attemptsOf, expireLease, makeDue, rowOf, rowsOf } from '../faults/support/rows';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { cancel, retryFailed } from './support/operator';
import { arrived, commit, everyKeyWasLookedAt, type Receiver, receiver, parcels } from './support/parcels';

let database: TestDatabase;
let apps: DeliveriesApp[] = [];
let atEnd: (() => void) | undefined;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  atEnd?.();
  atEnd = undefined;
  await Promise.all(apps.map((app) => app.close()));
  apps = [];
  await database.drop();
});

async function start(to: Receiver, options: Parameters<typeof startDeliveriesApp>[2] = {}): Promise<DeliveriesApp> {
  const app = await startDeliveriesApp(database.url, [to.channel], options);
  apps.push(app);
  return app;
}

it('a failed head holds its key until a retry, which sends it first, or a cancel, which lets the next go', async () => {
  const to = receiver();
  let refusing = true;
  to.on('refused', () => (refusing ? failed(422) : succeeded()));
  const app = await start(to);
  const retried = await commit(app, to, 'a', ...parcels(3, { 1: 'refused' }));
  const cancelled = await commit(app, to, 'b', ...parcels(3, { 1: 'refused' }));
  await until('both have failed', async () =>
    (await rowsOf(database, [retried[0]!, cancelled[0]!])).every(({ status }) => status === 'failed'),
  );
  await everyKeyWasLookedAt(app, to);
  expect([to.of('a'), to.of('b')]).toEqual([[1], [1]]);

  refusing = false;
  await retryFailed(app, retried[0]!);
  await cancel(app, cancelled[0]!);
  await arrived(to, 'a', 1, 1, 2, 3);
  await arrived(to, 'b', 1, 2, 3);
  expect(to.mostInFlightOfAKey()).toBe(1);
  expect(await rowOf(database, cancelled[0]!)).toMatchObject({
    status: 'cancelled',
    attempts: 1,
    lease_expires_at: null,
  });
});

it('a head that waits for its retry holds its key, and a cancel lets the next go at once', async () => {
  const to = receiver({ retry: { first: '1h', max: '1h' } });
  to.on('busy', () => retry(503));
  const app = await start(to);
  const [head] = await commit(app, to, 'a', ...parcels(3, { 1: 'busy' }));
  await until('it backs off', async () => (await attemptsOf(database, head!)).length === 1);
  await everyKeyWasLookedAt(app, to);
  expect(to.of('a')).toEqual([1]);

  await cancel(app, head!);
  await arrived(to, 'a', 1, 2, 3);
});

it('a head that is cancelled in flight holds its key until its lease ends, and its outcome is dropped', async () => {
  const to = receiver({ sendTimeout: '30s', lease: '60s' });
  const answer = gate();
  to.on('slow', async () => {
    await answer.passed;
    return succeeded();
  });
  const app = await start(to);
  const log = captureLog();
  const [head] = await commit(app, to, 'a', ...parcels(3, { 1: 'slow' }));
  await until('it is in flight', () => to.inFlight().length === 1);
  const { lease_expires_at: leaseEnd } = await rowOf(database, head!);
  await cancel(app, head!);
  await everyKeyWasLookedAt(app, to);
  expect(to.of('a')).toEqual([1]);

  answer.open();
  await until('its outcome was dropped', () => app.tally.of('parcels').lease_lost === 1);
  expect(log.filter((line) => line.includes(head!) && line.includes('lost lease'))).toHaveLength(1);
  await everyKeyWasLookedAt(app, to);
  expect(to.of('a')).toEqual([1]);
  expect(await rowOf(database, head!)).toMatchObject({ status: 'cancelled', attempts: 1, lease_expires_at: leaseEnd });

  await database.query('UPDATE deliveries.deliveries SET lease_expires_at = clock_timestamp() WHERE id = $1', [head]);
  await arrived(to, 'a', 1, 2, 3);
  expect(await rowOf(database, head!)).toMatchObject({ status: 'cancelled', lease_expires_at: null });
  expect(await attemptsOf(database, head!)).toEqual([{ number: 1, outcome: 'cancelled', error: 'cancelled' }]);
  expect(to.mostInFlightOfAKey()).toBe(1);
});

describe('a channel that does not return when its signal aborts', () => {
  const sends = { sendTimeout: 50, lease: 6_000, retry: { first: 10, max: 10 } };

  /** The head of key "a" was settled without its channel, which is still sending. */
  async function settledWhileSending(
    to: Receiver,
    outcome: 'retried' | 'failed',
  ): Promise<{ app: DeliveriesApp; head: string; leaseEnd: Date; end: () => void }> {
    const never = gate();
    atEnd = never.open;
    to.on('deaf', async (_, { number }) => {
      if (number === 1) await never.passed;
      return succeeded();
    });
    const app = await start(to);
    captureLog();
    const [head] = await commit(app, to, 'a', ...parcels(3, { 1: 'deaf' }));
    await until('it is in flight', () => to.inFlight().length === 1);
    const leaseEnd = (await rowOf(database, head!)).lease_expires_at!;
    await until('it was settled without its channel', async () => (await attemptsOf(database, head!)).length === 1);
    expect(await attemptsOf(database, head!)).toEqual([{ number: 1, outcome, error: 'timeout' }]);
    expect(to.inFlight()).toHaveLength(1);
    return { app, head: head!, leaseEnd, end: never.open };
  }

  it('is retried no earlier than its lease ends', async () => {
    const to = receiver(sends);
    const { app, head, leaseEnd, end } = await settledWhileSending(to, 'retried');
    const row = await rowOf(database, head);
    expect(row).toMatchObject({ status: 'pending', claim_token: null });
    expect(row.due_at.getTime()).toBeGreaterThanOrEqual(leaseEnd.getTime());
    await everyKeyWasLookedAt(app, to);
    expect(to.of('a')).toEqual([1]);

    end();
    await makeDue(database, head);
    await arrived(to, 'a', 1, 1, 2, 3);
    expect(to.mostInFlightOfAKey()).toBe(1);
  });

  it.each(['retried', 'failed'] as const)(
    'holds its key until its lease ends when it is cancelled after it %s',
    async (outcome) => {
      const to = receiver({ ...sends, ...(outcome === 'failed' ? { maxAttempts: 1 } : {}) });
      const { app, head, end } = await settledWhileSending(to, outcome);
      await cancel(app, head);
      await everyKeyWasLookedAt(app, to);
      expect(to.of('a')).toEqual([1]);

      end();
      await database.query('UPDATE deliveries.deliveries SET lease_expires_at = clock_timestamp() WHERE id = $1', [
        head,
      ]);
      await arrived(to, 'a', 1, 2, 3);
      expect(to.mostInFlightOfAKey()).toBe(1);
    },
  );

  it('holds its key until its lease ends when it failed, is retried by an operator, and then cancelled', async () => {
    const to = receiver({ ...sends, maxAttempts: 1 });
    const { app, head, leaseEnd, end } = await settledWhileSending(to, 'failed');
    await retryFailed(app, head);
    expect((await rowOf(database, head)).due_at.getTime()).toBeGreaterThanOrEqual(leaseEnd.getTime());
    await cancel(app, head);
    await everyKeyWasLookedAt(app, to);
    expect(to.of('a')).toEqual([1]);

    end();
    await database.query('UPDATE deliveries.deliveries SET lease_expires_at = clock_timestamp() WHERE id = $1', [head]);
    await arrived(to, 'a', 1, 2, 3);
  });
});

describe('a head whose worker vanished', () => {
  /** What a worker that was killed in the middle of an attempt leaves behind, its lease over. */
  const vanish = async (id: string): Promise<void> => {
    await database.query(
      `UPDATE deliveries.deliveries SET claim_token = gen_random_uuid(), lease_expires_at = clock_timestamp(),
              due_at = clock_timestamp(), attempts = attempts + 1
        WHERE id = $1 AND status = 'pending' AND claim_token IS NULL`,
      [id],
    );
  };

  it('is sent again before what waits behind it, its crash counted', async () => {
    const to = receiver();
    const app = await start(to, { run: [] });
    const [head] = await commit(app, to, 'a', ...parcels(3));
    await vanish(head!);
    await start(to);
    await arrived(to, 'a', 1, 2, 3);
    await until('it is settled', async () => (await rowOf(database, head!)).status === 'succeeded');
    expect(await rowOf(database, head!)).toMatchObject({ attempts: 2, crashes: 1 });
    expect(await attemptsOf(database, head!)).toEqual([{ number: 1, outcome: 'crashed', error: 'crashed' }]);
    expect(to.arrivals.map(({ attempt }) => attempt)).toEqual([2, 1, 1]);
  });

  it('fails as crashed at the sixth time without a send, and then holds its key like any failure', async () => {
    const to = receiver();
    const recorder = await start(to, { run: [] });
    const [head] = await commit(recorder, to, 'a', ...parcels(3));
    await database.query('UPDATE deliveries.deliveries SET crashes = 5 WHERE id = $1', [head]);
    await vanish(head!);
    const app = await start(to);
    await until('it has failed', async () => (await rowOf(database, head!)).status === 'failed');
    await everyKeyWasLookedAt(app, to);
    expect(to.of('a')).toEqual([]);
    expect(await rowOf(database, head!)).toMatchObject({ last_error: 'crashed', attempts: 2, crashes: 6 });

    await retryFailed(app, head!);
    await arrived(to, 'a', 1, 2, 3);
  });

  it('whose lease expires while it is in flight is sent again, and its late outcome releases nothing', async () => {
    const to = receiver({ sendTimeout: '30s', lease: '60s' });
    const first = gate();
    const second = gate();
    to.on('slow', async (_, { number }) => {
      await (number === 1 ? first : second).passed;
      return succeeded();
    });
    const app = await start(to);
    captureLog();
    const [head] = await commit(app, to, 'a', ...parcels(3, { 1: 'slow' }));
    await until('it is in flight', () => to.inFlight().length === 1);
    await expireLease(database, head!);
    await until('it is in flight again', () => to.inFlight().length === 2);
    first.open();
    await until('the late outcome was dropped', () => app.tally.of('parcels').lease_lost === 1);
    await everyKeyWasLookedAt(app, to);
    expect(to.of('a')).toEqual([1, 1]);
    second.open();
    await arrived(to, 'a', 1, 1, 2, 3);
  });
});
