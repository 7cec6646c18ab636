/** What a replica reports of some seconds. */
export interface Spell {
  /** Deliveries that arrived. */
  readonly handled: number;
  /** From their commits to their first sends, in ms. */
  readonly p99: number;
  /** What is in use after a collection of garbage. */
  readonly heapMiB: number;
}

/** A spell, with what the tables looked like at its end. */
export interface Sample extends Spell {
  readonly deadRows: number;
  readonly tableMiB: number;
}

/** Of the samples' first and last third: what does not grow is the same in both. */
export function thirds(samples: readonly Sample[], figure: keyof Sample): { first: number; last: number } {
  const third = Math.floor(samples.length / 3);
  const median = (of: readonly Sample[]): number =>
    of.map((sample) => sample[figure]).toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? Number.NaN;
  return { first: median(samples.slice(0, third)), last: median(samples.slice(-third)) };
}
