import { WebhookClockError, WebhookInputError, WebhookSignatureError } from '../errors';

/** The last second of the year 9999, which is as far as the header goes. */
export const lastTimestamp = 253_402_300_799;
/** The longest delivery window, in seconds: what begins by this clock also ends before the year 10000. */
const lastClock = lastTimestamp - 7 * 86_400;

/** Seconds since 1970 as a header has them: one spelling for each number. @returns undefined for anything else */
export function readTimestamp(text: string): number | undefined {
  if (!/^(0|[1-9][0-9]{0,11})$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds <= lastTimestamp ? seconds : undefined;
}

/** @throws WebhookInputError for anything but 1 to 300 whole seconds */
export function checkSkew(maxSkew: number): number {
  if (Number.isInteger(maxSkew) && maxSkew >= 1 && maxSkew <= 300) return maxSkew;
  throw new WebhookInputError('signature skew', '1 to 300 whole seconds');
}

/**
 * @param now in ms since 1970; truncated to seconds, as the timestamp was
 * @param maxSkew in seconds; a difference of exactly as much passes
 * @throws WebhookClockError, WebhookSignatureError
 */
export function requireFresh(timestamp: number, now: number, maxSkew: number): void {
  const seconds = Math.floor(now / 1_000);
  if (!(now >= 0 && seconds <= lastClock)) throw new WebhookClockError();
  if (Math.abs(seconds - timestamp) > maxSkew) throw new WebhookSignatureError();
}
