import fc from 'fast-check';
import { failed, retry, skipped, succeeded } from '../delivery/outcome';
import { backoff } from './backoff';
import { decideSettlement, type SettlementAges, type SettlementLimits } from './decide-settlement';

const limits: SettlementLimits = {
  maxAge: 86_400_000,
  maxAttempts: undefined,
  retry: { first: 10_000, max: 3_600_000 },
};
const now = Date.UTC(2026, 10, 29, 12);
const ages: SettlementAges = { now, sinceAccepted: 60_000, untilDeadline: undefined };
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const attempts = fc.integer({ min: 1, max: 50 });

test('a success, a skip and a permanent failure end the delivery', () => {
  expect(decideSettlement(succeeded(), 3, ages, limits, 0.5)).toEqual({ status: 'succeeded' });
  expect(decideSettlement(skipped('address_removed'), 1, ages, limits, 0.5)).toEqual({
    status: 'succeeded',
    attempt: { outcome: 'skipped', error: 'address_removed' },
  });
  expect(decideSettlement(failed(404), 1, ages, limits, 0.5)).toEqual({
    status: 'failed',
    attempt: { outcome: 'failed', error: '404' },
  });
});

test('a retry waits for its backoff, and keeps its kind', () => {
  fc.assert(
    fc.property(attempts, chance, (attempt, random) => {
      const settlement = decideSettlement(retry('ECONNRESET'), attempt, ages, limits, random);
      expect(settlement).toEqual({
        status: 'pending',
        attempt: { outcome: 'retried', error: 'ECONNRESET' },
        dueIn: backoff(attempt, limits.retry, random),
      });
    }),
  );
});

test('Retry-After lengthens a wait and never shortens it', () => {
  fc.assert(
    fc.property(attempts, chance, fc.integer({ min: 0, max: 80_000 }), (attempt, random, seconds) => {
      const plain = decideSettlement(retry(503), attempt, ages, limits, random);
      const asked = decideSettlement(retry(503, { retryAfter: String(seconds) }), attempt, ages, limits, random);
      if (plain.status !== 'pending' || asked.status !== 'pending') throw new Error('both should wait');
      expect(asked.dueIn).toBe(Math.max(plain.dueIn, seconds * 1_000));
    }),
  );
});

test('a Retry-After that cannot be understood changes nothing', () => {
  for (const retryAfter of ['soon', '', '-1', ['5', '5'], 'Sun, 29 Nov 2020 12:00:06 GMT', Number.NaN]) {
    expect(decideSettlement(retry(503, { retryAfter }), 1, ages, limits, 0.25)).toEqual(
      decideSettlement(retry(503), 1, ages, limits, 0.25),
    );
  }
});

test('a date is read against the clock it is given, the database’s', () => {
  const retryAfter = 'Sun, 29 Nov 2026 13:00:00 GMT';
  expect(decideSettlement(retry(503, { retryAfter }), 1, ages, limits, 0)).toMatchObject({ dueIn: 3_600_000 });
  const later = { ...ages, now: now + 1_800_000 };
  expect(decideSettlement(retry(503, { retryAfter }), 1, later, limits, 0)).toMatchObject({ dueIn: 1_800_000 });
});

test('a retry that would fall later than maxAge fails, at the millisecond', () => {
  const outcome = retry(503, { retryAfter: 30_000 });
  const edge = { ...ages, sinceAccepted: limits.maxAge - 30_000 };
  expect(decideSettlement(outcome, 1, edge, limits, 0).status).toBe('pending');
  const past = { ...edge, sinceAccepted: edge.sinceAccepted + 1 };
  expect(decideSettlement(outcome, 1, past, limits, 0)).toEqual({
    status: 'failed',
    attempt: { outcome: 'failed', error: '503' },
    holdLaneFor: 30_000,
  });
});

test('a retry that would fall later than the deadline fails', () => {
  const outcome = retry('timeout', { retryAfter: 30_000 });
  expect(decideSettlement(outcome, 1, { ...ages, untilDeadline: 30_000 }, limits, 0).status).toBe('pending');
  expect(decideSettlement(outcome, 1, { ...ages, untilDeadline: 29_999 }, limits, 0).status).toBe('failed');
});

test('maxAttempts ends a delivery at that attempt, and not before', () => {
  const three = { ...limits, maxAttempts: 3 };
  const statuses = [1, 2, 3, 4].map((attempt) => decideSettlement(retry(503), attempt, ages, three, 0).status);
  expect(statuses).toEqual(['pending', 'pending', 'failed', 'failed']);
  expect(decideSettlement(succeeded(), 9, ages, three, 0).status).toBe('succeeded');
});

test('a lane is held for as long as the receiver asked, though never for longer than an hour', () => {
  const held = (retryAfter: string | number): unknown => {
    const settlement = decideSettlement(retry(503, { retryAfter }), 1, ages, limits, 0);
    return 'holdLaneFor' in settlement ? settlement.holdLaneFor : undefined;
  };
  expect(['0', 1, 30_000, '3600', '3601', 80_000_000].map(held)).toEqual([
    undefined,
    1,
    30_000,
    3_600_000,
    3_600_000,
    3_600_000,
  ]);
});

test('a 429 holds its lane without asking, for as long as its delivery waits; what else a receiver answers does not', () => {
  expect(decideSettlement(retry(429), 2, ages, limits, 1)).toMatchObject({ dueIn: 20_000, holdLaneFor: 20_000 });
  expect(decideSettlement(retry(429, { retryAfter: 5 }), 2, ages, limits, 1)).toMatchObject({ holdLaneFor: 5 });
  expect(decideSettlement(retry(503), 2, ages, limits, 1)).not.toHaveProperty('holdLaneFor');
  const last = decideSettlement(retry(429), 3, ages, { ...limits, maxAttempts: 3 }, 0);
  expect(last).toMatchObject({ status: 'failed', holdLaneFor: 1_000 });
});

test('nothing is due again before an attempt that may still be under way has ended', () => {
  const busy = { ...ages, busyFor: 15_000 };
  const interrupted = { type: 'interrupted', kind: 'shutdown' } as const;
  expect(decideSettlement(interrupted, 1, busy, limits, 0)).toMatchObject({ dueIn: 15_000 });
  expect(decideSettlement(retry('timeout'), 1, busy, limits, 0)).toMatchObject({ dueIn: 15_000 });
  expect(decideSettlement(retry('timeout'), 2, busy, limits, 1)).toMatchObject({ dueIn: 20_000 });
  const late = { ...busy, sinceAccepted: limits.maxAge - 14_999 };
  expect(decideSettlement(retry('timeout'), 1, late, limits, 0).status).toBe('failed');
});

test('an attempt that a shut-down interrupted is due at once, whatever its number', () => {
  const interrupted = { type: 'interrupted', kind: 'shutdown' } as const;
  expect(decideSettlement(interrupted, 40, ages, { ...limits, maxAttempts: 1 }, 0.9)).toEqual({
    status: 'pending',
    attempt: { outcome: 'retried', error: 'shutdown' },
    dueIn: 0,
  });
});
