/**
 * What `last_error` and the attempts may hold: a status code (`503`) or the name of a kind of error (`timeout`,
 * `ECONNRESET`, `TypeError`), at most 64 characters. The tables check the same pattern, so that a receiver's text,
 * which can quote an address or a secret, has no way in.
 */
export const kindPattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;

/** The kind written in the place of one that does not match {@link kindPattern}. */
export const unnamedKind = 'unnamed_error';

/** `kind` if it can be written down, otherwise {@link unnamedKind}. */
export function writableKind(kind: unknown): string {
  return typeof kind === 'string' && kindPattern.test(kind) ? kind : unnamedKind;
}

/** The kind of a thrown value: its class's name, never its message, which can quote anything. */
export function kindOfThrown(thrown: unknown): string {
  // Anything can be thrown, also an error whose class was taken from it: what a channel throws never ends the process.
  const name: unknown =
    thrown instanceof Error ? (thrown.constructor as { name?: unknown } | undefined)?.name : typeof thrown;
  return writableKind(name);
}
