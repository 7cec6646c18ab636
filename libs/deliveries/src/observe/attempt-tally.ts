/** How attempts ended, as the metrics count them. */
export const countedOutcomes = ['succeeded', 'retried', 'failed', 'lease_lost'] as const;

export type CountedOutcome = (typeof countedOutcomes)[number];

/** Attempts of this process by channel and outcome, counted where the worker records them. */
export class AttemptTally {
  private readonly counts = new Map<string, Record<CountedOutcome, number>>();

  add(channel: string, outcome: CountedOutcome): void {
    this.of(channel)[outcome] += 1;
  }

  /** The counts of a channel since the process started. */
  of(channel: string): Record<CountedOutcome, number> {
    let counts = this.counts.get(channel);
    if (!counts) {
      counts = { succeeded: 0, retried: 0, failed: 0, lease_lost: 0 };
      this.counts.set(channel, counts);
    }
    return counts;
  }
}
