/**
 * Answers every address of a host name, in the order in which they should be tried. Called once per attempt, never
 * for a literal. A rejection with a `code` becomes the attempt's `dns:<code>`; an empty answer means there is none.
 * It need not end by itself: the attempt's connect time does, and `signal` tells when nobody waits any more.
 */
export type Resolver = (hostname: string, signal?: AbortSignal) => Promise<readonly string[]>;
