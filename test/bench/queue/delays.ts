import { setTimeout as sleep } from 'node:timers/promises';
import type { Handled } from './worker-process';
import { monotonic, percentile } from './contender';

/** Pairs the commit of each delivery with the call of its handler. */
export class Delays {
  private readonly recorded = new Map<number, number>();
  private readonly handled = new Map<number, number>();

  readonly onRecorded = (first: number, count: number, at: number): void => {
    for (let n = first; n < first + count; n++) this.recorded.set(n, at);
  };

  readonly onHandled = (handled: Handled): void => {
    // The first call counts: what comes a second time was delivered before.
    for (const [n, at] of handled) if (n >= 0 && !this.handled.has(n)) this.handled.set(n, at);
  };

  /** Resolves when all that was recorded is handled, or after `ms`. */
  async complete(ms: number): Promise<void> {
    const until = monotonic() + ms;
    while (this.handled.size < this.recorded.size && monotonic() < until) await sleep(50);
  }

  /** Of what was committed from one moment to another, in ms; what was not handled has waited until now, and longer. */
  between(from: number, to: number): number[] {
    const now = monotonic();
    return [...this.recorded]
      .filter(([, at]) => at >= from && at < to)
      .map(([n, at]) => (this.handled.get(n) ?? now) - at);
  }

  /** How many were handled in that time. */
  handledBetween(from: number, to: number): number {
    return [...this.handled.values()].filter((at) => at >= from && at < to).length;
  }

  get missing(): number {
    return [...this.recorded.keys()].filter((n) => !this.handled.has(n)).length;
  }
}

/** The shape of a distribution: percentiles by name. */
export const percents = [1, 5, 10, 25, 50, 75, 90, 95, 99, 99.9] as const;

export const distribution = (delays: readonly number[]): Record<string, number> =>
  Object.fromEntries(percents.map((percent) => [`p${percent}`, percentile(delays, percent)]));
