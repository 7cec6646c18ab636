import type { Stage } from './queue/stage';

/** One part of the bench: what is measured together, and the ratios that come of it. */
export interface Part {
  readonly name: string;
  readonly about: string;
  run(run: Run): Promise<Report>;
}

/** One run of the bench, as its parts see it. */
export interface Run {
  /** Smaller counts and shorter spells. */
  readonly quick: boolean;
  /** How often each contender runs: the first number with `--quick`, the second without; `--rounds` wins over both. */
  rounds(quick: number, full: number): number;
  /** The server and the peers, started when the first part asks for them. */
  stage(): Promise<Stage>;
  /** A line for whoever watches. */
  progress(line: string): void;
}

export interface Report {
  readonly measured: readonly Measurement[];
  /** Higher is better in every one: ours by theirs, or theirs by ours where less is better. */
  readonly ratios: Readonly<Record<string, number>>;
}

/** One figure of one contender. */
export interface Measurement {
  readonly what: string;
  readonly contender: string;
  readonly figure: string;
  /** Undefined: a point of a curve, which the table leaves out. */
  readonly unit?: string | undefined;
  readonly median: number;
  readonly least: number;
  readonly most: number;
  /** Of each round, in order. */
  readonly each: readonly number[];
}

/** The figure that says how many cores others kept busy meanwhile. */
export const OTHERS = 'cores of others';

/** What a contender answers when it has run once, by name. */
export type Figures = Readonly<Record<string, number>>;

export interface Line {
  readonly what: string;
  /** The figures that the table shows, with their units. */
  readonly units: Readonly<Record<string, string>>;
  readonly contenders: Readonly<Record<string, () => Promise<Figures>>>;
  readonly rounds: number;
  /** A first round that is thrown away: for contenders that run in this process, whose code and sockets warm up. */
  readonly warmUp?: boolean;
}

/** Runs the contenders A B C A B C …, so that whatever else the machine does meets all of them, and takes medians. */
export async function takeTurns(line: Line, run: Pick<Run, 'progress'>): Promise<Measurement[]> {
  const { what, units, contenders, rounds, warmUp = false } = line;
  const answers = new Map<string, Figures[]>(Object.keys(contenders).map((name) => [name, []]));
  for (let round = warmUp ? 0 : 1; round <= rounds; round++) {
    for (const [name, contender] of Object.entries(contenders)) {
      const figures = await contender();
      if (round === 0) continue;
      answers.get(name)!.push(figures);
      run.progress(`${what} · ${name} · ${round} of ${rounds}: ${shown(figures, units)}`);
    }
  }
  return [...answers].flatMap(([contender, all]) =>
    Object.keys(all[0] ?? {}).map((figure) =>
      measurement(
        what,
        contender,
        figure,
        units[figure],
        all.map((figures) => figures[figure]!),
      ),
    ),
  );
}

function measurement(
  what: string,
  contender: string,
  figure: string,
  unit: string | undefined,
  each: readonly number[],
): Measurement {
  return {
    what,
    contender,
    figure,
    unit,
    median: short(medianOf(each)),
    least: short(Math.min(...each)),
    most: short(Math.max(...each)),
    each: each.map(short),
  };
}

/** More digits than anything here is exact to. */
const short = (figure: number): number => Number(figure.toPrecision(5));

function shown(figures: Figures, units: Readonly<Record<string, string>>): string {
  const own = Object.entries(units).map(
    ([figure, unit]) => `${figure} ${rounded(figures[figure] ?? Number.NaN)} ${unit}`,
  );
  const others = figures[OTHERS] ?? 0;
  return [...own, ...(others > 0.2 ? [`others kept ${rounded(others)} cores busy`] : [])].join(', ');
}

/** The median of a figure of one contender divided by that of another. */
export function ratio(
  measured: readonly Measurement[],
  what: string,
  figure: string,
  above: string,
  below: string,
): number {
  const find = (contender: string): number =>
    measured.find((row) => row.what === what && row.figure === figure && row.contender === contender)?.median ??
    Number.NaN;
  return Math.round((find(above) / find(below)) * 1000) / 1000;
}

export function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}

/** Three digits that matter, and thousands apart. */
export function rounded(figure: number): string {
  if (!Number.isFinite(figure)) return '–';
  const digits = Math.abs(figure) >= 100 ? 0 : Math.abs(figure) >= 10 ? 1 : 2;
  return figure.toLocaleString('en', { minimumFractionDigits: 0, maximumFractionDigits: digits });
}
