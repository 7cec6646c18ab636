import { inspect } from 'node:util';
import type { CountedOutcome } from './attempt-tally';

/**
 * How an attempt ended, as the log and the diagnostics channel tell it: ids, numbers and names of kinds, never a payload,
 * a recipient or an address.
 *
 * A class, because Nest's own logger prints instances the way they ask to be printed, here as one line, while loggers that
 * take objects see the fields.
 */
export class EndedAttempt {
  constructor(
    readonly deliveryId: string,
    readonly eventId: string,
    readonly channel: string,
    /** From 1. */
    readonly attempt: number,
    readonly outcome: CountedOutcome,
    /** What went wrong, or why it was skipped: a status code or the name of a kind. */
    readonly kind: string | undefined,
    /** How long the channel had it, in ms; undefined when it was not sent at all. */
    readonly durationMs: number | undefined,
    /** How long it had been due before that, in ms. */
    readonly waitedMs: number | undefined,
  ) {}

  toString(): string {
    const { deliveryId, channel, attempt, outcome, kind, durationMs } = this;
    const because = kind === undefined ? '' : ` (${kind})`;
    const after = durationMs === undefined ? ', not sent' : ` after ${durationMs} ms`;
    return `Delivery ${deliveryId} of channel "${channel}", attempt ${attempt}: ${words[outcome]}${because}${after}.${hints[outcome] ?? ''}`;
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

const words: Record<CountedOutcome, string> = {
  succeeded: 'succeeded',
  retried: 'to be retried',
  failed: 'failed',
  lease_lost: 'lost lease',
};

const hints: Partial<Record<CountedOutcome, string>> = {
  lease_lost: ' The outcome came too late, or the delivery was cancelled; it was dropped.',
};
