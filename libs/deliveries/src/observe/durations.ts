/** Upper bounds of the histograms' buckets, in seconds: from a poll that was answered at once to the longest backoff. */
export const durationBounds = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600,
] as const;

/**
 * A histogram of durations. Counted here and turned into metrics when somebody asks: an `observe` of prom-client's costs
 * 30 times as much, twice for each delivery.
 */
export class Durations {
  /** By bucket, not cumulated; the last one holds what is over every bound. */
  readonly counts = new Array<number>(durationBounds.length + 1).fill(0);
  /** In seconds. */
  sum = 0;

  /** @param ms below 0, as between two clocks, counts as 0 */
  add(ms: number): void {
    const seconds = Math.max(0, ms) / 1_000;
    let bucket = 0;
    while (bucket < durationBounds.length && seconds > durationBounds[bucket]!) bucket += 1;
    this.counts[bucket]! += 1;
    this.sum += seconds;
  }
}
