import fc from 'fast-check';
import { backoff } from './backoff';

const bounds = { first: 10_000, max: 3_600_000 };
const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

test('stays between a tenth of the first bound and a bound that doubles up to its maximum', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100_000 }), chance, (attempt, random) => {
      const wait = backoff(attempt, bounds, random);
      const bound = attempt > 9 ? 3_600_000 : 10_000 * 2 ** (attempt - 1);
      expect(wait).toBeGreaterThanOrEqual(1_000);
      expect(wait).toBeLessThanOrEqual(bound);
    }),
  );
});

test('is full jitter: chance reaches from the floor to the bound, evenly', () => {
  expect(backoff(1, bounds, 0)).toBe(1_000);
  expect(backoff(1, bounds, 0.5)).toBe(5_500);
  expect(backoff(1, bounds, 1)).toBe(10_000);
  expect(backoff(2, bounds, 1)).toBe(20_000);
  expect(backoff(9, bounds, 1)).toBe(2_560_000);
  expect(backoff(10, bounds, 1)).toBe(3_600_000);
  expect(backoff(10_000, bounds, 1)).toBe(3_600_000);
});

test('never exceeds a maximum that is below the floor', () => {
  expect(backoff(1, { first: 10_000, max: 500 }, 0)).toBe(500);
  expect(backoff(5, { first: 10_000, max: 500 }, 0.999)).toBe(500);
});
