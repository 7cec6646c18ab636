import { types } from 'node:util';

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

/**
 * The kind of a thrown value: its class's name, never its message, which can quote anything. Of a `fetch` that failed it is the platform's
 * code for the reason, such as `ECONNREFUSED`, since all of these are a `TypeError`.
 */
export function kindOfThrown(thrown: unknown): string {
  if (!isError(thrown)) return writableKind(typeof thrown);
  // An error's class can have been taken from it: what a channel throws never ends the process.
  return codeOfFetch(thrown) ?? writableKind((thrown.constructor as { name?: unknown } | undefined)?.name);
}

/** Also one of another realm: under Jest, `fetch` throws errors that are no `instanceof Error` for the code that it runs. */
const isError = (value: unknown): value is Error => types.isNativeError(value) || value instanceof Error;

/** Only the platform throws this message with an error as its cause, so that no receiver's word gets in as a code. */
function codeOfFetch({ message, cause }: Error): string | undefined {
  if (message !== 'fetch failed' || !isError(cause)) return undefined;
  const { code } = cause as { code?: unknown };
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,63}$/.test(code) ? code : undefined;
}
