/** A place in a file: lines from 1, columns from 0. Without lines: an `else` that is not written. */
export interface Span {
  readonly start: { readonly line?: number; readonly column?: number };
  readonly end: { readonly line?: number; readonly column?: number };
}

/** What Jest writes of each file, in Istanbul's form, as far as it is read here. */
export interface CountedFile {
  readonly path: string;
  readonly statementMap: Readonly<Record<string, Span>>;
  readonly s: Readonly<Record<string, number>>;
  readonly branchMap: Readonly<
    Record<string, { readonly type: string; readonly loc: Span; readonly locations: readonly Span[] }>
  >;
  readonly b: Readonly<Record<string, readonly number[]>>;
}

/** How many there are, and how many of them ran. */
export interface Share {
  readonly all: number;
  readonly ran: number;
}

/** A way that the code can take. */
export interface Branch {
  /** From the repository's root. */
  readonly file: string;
  readonly line: number;
  /** The source line on which the choice begins. */
  readonly code: string;
  /** Which way: `then` and `else` of an `if`, and the source of anything else, up to its line's end. */
  readonly way: string;
  /** How often it was taken. */
  readonly taken: number;
}

/** A way that no test takes, and why. */
export type Explained = Pick<Branch, 'file' | 'code' | 'way'> & { readonly reason: string };

/** Lines that begin a statement. */
export function linesOf({ statementMap, s }: CountedFile): Share {
  const ran = new Map<number, boolean>();
  for (const [key, { start }] of Object.entries(statementMap)) {
    ran.set(start.line!, s[key]! > 0 || ran.get(start.line!) === true);
  }
  return { all: ran.size, ran: [...ran.values()].filter(Boolean).length };
}

/** @param source the text of the file */
export function branchesOf({ branchMap, b }: CountedFile, file: string, source: string): Branch[] {
  const lines = source.split('\n');
  return Object.entries(branchMap).flatMap(([key, { type, loc, locations }]) =>
    locations.map((span, index) => ({
      file,
      line: span.start.line ?? loc.start.line!,
      code: lines[loc.start.line! - 1]!.trim(),
      way: type === 'if' ? ['then', 'else'][index]! : firstLineOf(span, lines),
      taken: b[key]![index]!,
    })),
  );
}

const firstLineOf = ({ start, end }: Span, lines: readonly string[]): string =>
  lines[start.line! - 1]!.slice(start.column, start.line === end.line ? end.column : undefined).trim();

/** `libs/deliveries/src/settle/…` is of the room `deliveries/settle`, what stands beside the rooms of the library itself. */
export function roomOf(file: string): string {
  const [, library, , ...rest] = file.split('/');
  return rest.length > 1 ? `${library}/${rest[0]}` : library!;
}

export const sum = (shares: readonly Share[]): Share => ({
  all: shares.reduce((total, { all }) => total + all, 0),
  ran: shares.reduce((total, { ran }) => total + ran, 0),
});

export interface Judgement {
  /** Never taken, with its reason. */
  readonly explained: readonly (Branch & { readonly reason: string })[];
  /** Never taken, and nobody says why. */
  readonly unexplained: readonly Branch[];
  /** Explains what does not stand in the code any more. */
  readonly outdated: readonly Explained[];
}

/** One that is taken may be explained all the same: whether it is can depend on a race. */
export function judge(branches: readonly Branch[], explanations: readonly Explained[]): Judgement {
  const keyOf = ({ file, code, way }: Pick<Branch, 'file' | 'code' | 'way'>): string =>
    JSON.stringify([file, code, way]);
  const reasons = new Map(explanations.map((each) => [keyOf(each), each.reason]));
  const known = new Set(branches.map(keyOf));
  const never = branches.filter(({ taken }) => taken === 0);
  return {
    explained: never.flatMap((branch) => {
      const reason = reasons.get(keyOf(branch));
      return reason === undefined ? [] : [{ ...branch, reason }];
    }),
    unexplained: never.filter((branch) => !reasons.has(keyOf(branch))),
    outdated: explanations.filter((each) => !known.has(keyOf(each))),
  };
}
