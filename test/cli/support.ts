import { endOf, spawnTs, type TsChildEnd } from '../support/ts-child';

/** How a command ended, and how long that took. */
export interface CommandEnd extends TsChildEnd {
  /** From its last word to its end, in ms. */
  readonly lingered: number;
  /** By `performance.now()`. */
  readonly endedAt: number;
}

/** Runs a command of the reference application. @param url of its database; undefined for none */
export async function deliveries(args: readonly string[], url: string | undefined): Promise<CommandEnd> {
  const child = spawnTs('src/cli.ts', { args, env: { DATABASE_URL: url }, stdio: ['ignore', 'pipe', 'pipe'] });
  let lastWord = performance.now();
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', () => (lastWord = performance.now()));
  const end = await endOf(child);
  const endedAt = performance.now();
  return { ...end, lingered: endedAt - lastWord, endedAt };
}

/** So many at a time: each loads Nest and TypeORM, a second and a half of computing. */
export async function inTurn<T>(work: readonly (() => Promise<T>)[], atOnce = 3): Promise<T[]> {
  const results: T[] = [];
  const queue = [...work.entries()];
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await next[1]();
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

/** Runs commands, each of which has to end with this exit code and these words on standard error. */
export async function expectEnds(
  url: string,
  cases: readonly [code: number, words: RegExp, args: string[]][],
): Promise<void> {
  const ends = await inTurn(
    cases.map(
      ([, , args]) =>
        () =>
          deliveries(args, url),
    ),
  );
  expect(ends.map(({ code }) => code)).toEqual(cases.map(([code]) => code));
  ends.forEach(({ stderr }, at) => expect(stderr).toMatch(cases[at]![1]));
}

/** One line on standard error, nothing on standard output, exit code 1. */
export function expectOneLine({ code, stdout, stderr }: TsChildEnd, line: RegExp): void {
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^deliveries: [^\n]+\n$/);
  expect(stderr).toMatch(line);
}
