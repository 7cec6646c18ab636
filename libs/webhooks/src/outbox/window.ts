import { WebhookConfigurationError } from '../errors';
import { shownNumber } from '../known-options';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const least = 60_000;
const most = 7 * 86_400_000;

/** The attempts that fit into a window. */
export const attemptsInWindow = 10;

/** In ms. @throws WebhookConfigurationError for anything but a duration from a minute to seven days */
export function windowMs(subject: string, given: unknown): number {
  const [, amount, unit] = (typeof given === 'string' && /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(given)) || [];
  const ms = typeof given === 'number' ? given : Number(amount) * (units[unit ?? ''] ?? Number.NaN);
  if (ms >= least && ms <= most) return Math.round(ms);
  throw new WebhookConfigurationError(
    `${subject}: window must be a duration from '1m' to '7d'; got ${typeof given === 'string' ? JSON.stringify(given) : shownNumber(given)}. Write milliseconds or a string such as '6h'.`,
  );
}

/**
 * Bounds of the backoff. They double from attempt to attempt, so the nine waits between ten attempts are 511 times the first bound
 * at most, and half of that on average: with a first bound of a 512th, ten attempts always fit into the window, and take half of
 * it on average instead of its first minutes.
 */
export const backoffOver = (window: number): { first: number; max: number } => ({
  first: window / 2 ** (attemptsInWindow - 1),
  max: window / 2,
});
