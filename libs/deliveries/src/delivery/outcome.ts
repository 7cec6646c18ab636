import { writableKind } from './kind';

/**
 * How long a receiver asked to be left alone: a number of milliseconds, or the `Retry-After` field as it was received
 * (RFC 9110, section 10.2.3: seconds or one of the three date forms). Several field lines, which undici gives as an
 * array, are ignored, as is anything unparsable, negative or past.
 */
export type RetryAfter = number | string | readonly string[];

/** What an attempt produced, as the channel reports it. Made by {@link succeeded}, {@link retry}, {@link failed}, {@link skipped}. */
export type Outcome =
  | { readonly type: 'succeeded' }
  | { readonly type: 'retry'; readonly kind: string; readonly retryAfter?: RetryAfter }
  | { readonly type: 'failed'; readonly kind: string }
  | { readonly type: 'skipped'; readonly reason: string };

/** The receiver has it. */
export const succeeded = (): Outcome => ({ type: 'succeeded' });

/**
 * It may work later.
 * @param kind a status code or a kind of error, for example `503` or `ECONNRESET`: never text from the receiver. One
 *   that does not match `[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}` is written as `unnamed_error`.
 */
export function retry(kind: string | number, options: { retryAfter?: RetryAfter } = {}): Outcome {
  const named = { type: 'retry', kind: writableKind(String(kind)) } as const;
  return options.retryAfter === undefined ? named : { ...named, retryAfter: options.retryAfter };
}

/**
 * It will never work: the delivery ends, and an operator decides.
 * @param kind as for {@link retry}
 */
export const failed = (kind: string | number): Outcome => ({ type: 'failed', kind: writableKind(String(kind)) });

/**
 * There is nothing to send any more (an address was removed, a link was used): the delivery ends well without a send.
 * @param reason a short name such as `address_removed`; the same pattern as a kind
 */
export const skipped = (reason: string): Outcome => ({ type: 'skipped', reason: writableKind(reason) });
