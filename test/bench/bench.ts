/** One thing that is measured: what it prints and the ratios that it is judged by. */
export interface Bench {
  name: string;
  run(options: BenchOptions): Promise<BenchReport>;
}

export interface BenchOptions {
  /** How often each contender runs; they take turns. */
  rounds: number;
}

export interface BenchReport {
  measured: Measurement[];
  /** Ours divided by theirs: higher is better in every one. */
  ratios: Record<string, number>;
}

export interface Measurement {
  what: string;
  contender: string;
  unit: string;
  median: number;
  least: number;
  most: number;
}

/** A contender runs once and answers its figure, higher being better. */
export type Contenders = Readonly<Record<string, () => Promise<number>>>;

/**
 * Runs the contenders A B A B …, so that what else the machine does meets all of them, and takes medians. The first
 * round only warms up code, sockets and name caches, and is thrown away.
 */
export async function takeTurns(
  what: string,
  unit: string,
  contenders: Contenders,
  { rounds }: BenchOptions,
): Promise<Measurement[]> {
  const figures = new Map<string, number[]>(Object.keys(contenders).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, run] of Object.entries(contenders)) {
      const figure = await run();
      if (round > 0) {
        figures.get(name)?.push(figure);
      }
    }
  }
  return [...figures].map(([contender, all]) => ({
    what,
    contender,
    unit,
    median: median(all),
    least: Math.min(...all),
    most: Math.max(...all),
  }));
}

/** The median of one contender divided by that of another. */
export function ratio(measured: readonly Measurement[], what: string, ours: string, theirs: string): number {
  const find = (contender: string): number =>
    measured.find((row) => row.what === what && row.contender === contender)?.median ?? Number.NaN;
  return Math.round((find(ours) / find(theirs)) * 1000) / 1000;
}

function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}
