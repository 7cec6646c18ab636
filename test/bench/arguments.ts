import { parseArgs } from 'node:util';
import { parts } from './parts/parts';

export interface Arguments {
  /** Of the parts to run. */
  readonly names: readonly string[];
  readonly quick: boolean;
  /** In the place of each part's own number. */
  readonly rounds: number | undefined;
  readonly json: boolean;
  readonly profile: boolean;
  readonly docs: boolean;
  /** Files with earlier results, with commas between them, which are shown in the place of a new one. */
  readonly from: string | undefined;
  readonly help: boolean;
}

/** What `--quick` leaves out, unless `--only` names it: it draws and judges nothing. */
const onlyInFull: readonly string[] = ['curves'];

/** @throws Error that says which argument, and what it takes */
export function readArguments(args: readonly string[]): Arguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      json: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      docs: { type: 'boolean', default: false },
      from: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { only, rounds, quick, json, profile, docs, from, help } = values;
  const known = parts.map(({ name }) => name);
  const names = only?.split(',') ?? known.filter((name) => !quick || !onlyInFull.includes(name));
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`--only: there is no part "${unknown}". Known are: ${known.join(', ')}.`);
  if (rounds !== undefined && !/^[1-9]\d{0,2}$/.test(rounds)) {
    throw new Error(`--rounds must be a whole number from 1 to 999; got ${JSON.stringify(rounds)}. Choose one.`);
  }
  return {
    names,
    quick,
    rounds: rounds === undefined ? undefined : Number(rounds),
    json,
    // The page says where the time goes.
    profile: profile || (docs && from === undefined),
    docs,
    from,
    help,
  };
}

export const usage = (): string => `Usage: npm run bench -- [options]

Measures the queue beside pg-boss and graphile-worker, on a PostgreSQL of its own or the one that BENCH_DATABASE_URL
names (databases bench_… are made there and dropped). Ends with 0 when it ran, whatever it found, and names what missed its must.

  --quick          smaller counts, for a check in about a quarter of an hour at most
  --only a,b       these parts alone
  --rounds n       how often each contender runs
  --json           the result as JSON
  --profile        a CPU profile of our drain as well
  --docs           writes docs/performance.md and its curves from the result; with a profile
  --from a,b       takes the results of earlier runs (.data/bench-results holds them) in the place of a new one

Parts:
${parts.map(({ name, about }) => `  ${name.padEnd(16)} ${about}`).join('\n')}
`;
