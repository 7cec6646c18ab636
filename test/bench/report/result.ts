import { cpus, loadavg, totalmem, type as system, release } from 'node:os';
import { goals } from '../goals';
import { medianOf, OTHERS, type Measurement } from '../part';
import type { Profile } from '../profile/read-profile';

/** What a run found, as `--json` prints it. */
export interface Result {
  /** When it ended. */
  readonly at: string;
  /** What was typed. */
  readonly command: string;
  readonly quick: boolean;
  readonly seconds: number;
  readonly parts: readonly string[];
  readonly machine: Machine;
  readonly server: Readonly<Record<string, string>>;
  /** Versions of the packages beside which ours was measured, and of the Node on which all of them ran. */
  readonly contenders: Readonly<Record<string, string>>;
  /** How ours was run, where not with its defaults. */
  readonly ours?: { readonly slots: number; readonly levels: readonly string[] };
  readonly ratios: Readonly<Record<string, number>>;
  /** Ratios below what they must reach. */
  readonly missed: readonly string[];
  /** Cores that others kept busy while something was measured: median, and most. Beyond some tenths, ratios are not to be trusted. */
  readonly others: { readonly median: number; readonly most: number };
  readonly measured: readonly (Measurement & { readonly part: string })[];
  readonly profile?: Profile | undefined;
}

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memoryGiB: number;
  readonly system: string;
  /** Processes that wanted a core in the minute before the run began; ours were none of them. */
  readonly loadBefore: number;
}

export function machine(): Machine {
  const all = cpus();
  return {
    cores: all.length,
    cpu: all[0]?.model ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${system()} ${release()}`,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 100) / 100,
  };
}

export type Verdict = 'aim reached' | 'must reached' | 'MISSED' | '';

/** @returns an empty one for a ratio that has no goal */
export function verdict(name: string, value: number): Verdict {
  const goal = goals[name];
  if (!goal) return '';
  if (value >= goal.aim) return 'aim reached';
  return value >= goal.must ? 'must reached' : 'MISSED';
}

export const missedOf = (ratios: Result['ratios']): string[] =>
  Object.entries(ratios).flatMap(([name, value]) => (verdict(name, value) === 'MISSED' ? [name] : []));

export function othersOf(measured: readonly Measurement[]): Result['others'] {
  const cores = measured.filter(({ figure }) => figure === OTHERS).flatMap(({ each }) => each);
  return { median: medianOf(cores), most: Math.max(0, ...cores) };
}
