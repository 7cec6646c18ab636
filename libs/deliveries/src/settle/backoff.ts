/** The bounds of a channel's retries, in ms. */
export interface BackoffBounds {
  /** The bound after the first attempt. */
  readonly first: number;
  /** What the bound, which doubles with each attempt, never exceeds. */
  readonly max: number;
}

/**
 * How long to wait before the next attempt, in ms: a random time up to a bound that doubles (full jitter, so that
 * deliveries which failed together do not come back together), and never less than a tenth of the first bound.
 *
 * @param attempt the attempt that did not succeed, from 1, counted from the last operator retry
 * @param random at least 0 and below 1
 */
export function backoff(attempt: number, { first, max }: BackoffBounds, random: number): number {
  const bound = Math.min(max, first * 2 ** (attempt - 1));
  const floor = Math.min(first / 10, bound);
  return floor + random * (bound - floor);
}
