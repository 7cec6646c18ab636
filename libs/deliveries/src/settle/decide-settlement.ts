import type { Outcome } from '../delivery/outcome';
import type { AttemptOutcome, DeliveryStatus } from '../delivery/status';
import { backoff, type BackoffBounds } from './backoff';
import { retryAfterMs } from './retry-after';

/** The ages that matter to a decision, all by the database's clock. */
export interface SettlementAges {
  /** Now, in ms since 1970. */
  readonly now: number;
  /** Since the delivery was created or, if later, since an operator retried it; in ms. */
  readonly sinceAccepted: number;
  /** The earliest that a retry may be due, in ms from now: an attempt may still be under way until then. */
  readonly busyFor?: number | undefined;
  /** Until the delivery's deadline, in ms; undefined when it has none. */
  readonly untilDeadline: number | undefined;
}

/** The limits that a channel sets. */
export interface SettlementLimits {
  /** A retry never falls later than this after the delivery was accepted; in ms. */
  readonly maxAge: number;
  /** Attempts after which a delivery ends; undefined when only `maxAge` ends it. */
  readonly maxAttempts: number | undefined;
  readonly retry: BackoffBounds;
}

/** The application stopped while the attempt was under way: nobody's fault, and nobody should wait for it. */
export interface Interrupted {
  readonly type: 'interrupted';
  readonly kind: string;
}

/** The next state of a delivery. */
export type Settlement =
  | { readonly status: Extract<DeliveryStatus, 'succeeded'>; readonly attempt?: SettledAttempt }
  | ({ readonly status: Extract<DeliveryStatus, 'failed'>; readonly attempt: SettledAttempt } & Quiet)
  | ({
      readonly status: Extract<DeliveryStatus, 'pending'>;
      readonly attempt: SettledAttempt;
      readonly dueIn: number;
    } & Quiet);

/** What the receiver's answer means for the others in its lane. */
interface Quiet {
  /** For how long, in ms, nothing of the lane is sent: the receiver asked for it. */
  readonly holdLaneFor?: number;
}

/** A receiver holds its lane no longer than this, whatever it asks for: an hour, in ms. */
const longestHold = 3_600_000;

/** What goes into the row of an attempt that did not simply succeed. */
export interface SettledAttempt {
  readonly outcome: AttemptOutcome;
  readonly error: string;
}

/**
 * The only place that decides what becomes of a delivery after an attempt. Pure: time and chance come in as arguments.
 *
 * @param attempt the number of the attempt, from 1, counted from the last operator retry
 * @param random at least 0 and below 1
 */
export function decideSettlement(
  outcome: Outcome | Interrupted,
  attempt: number,
  ages: SettlementAges,
  limits: SettlementLimits,
  random: number,
): Settlement {
  switch (outcome.type) {
    case 'succeeded':
      return { status: 'succeeded' };
    case 'skipped':
      return { status: 'succeeded', attempt: { outcome: 'skipped', error: outcome.reason } };
    case 'failed':
      return { status: 'failed', attempt: { outcome: 'failed', error: outcome.kind } };
    case 'interrupted':
      return { status: 'pending', attempt: { outcome: 'retried', error: outcome.kind }, dueIn: ages.busyFor ?? 0 };
    case 'retry': {
      const asked = retryAfterMs(outcome.retryAfter, ages.now) ?? 0;
      const dueIn = Math.max(backoff(attempt, limits.retry, random), asked, ages.busyFor ?? 0);
      // 429 Too Many Requests (RFC 6585, section 4) may come without a Retry-After.
      const quiet = asked > 0 || outcome.kind !== '429' ? asked : dueIn;
      const hold = quiet > 0 ? { holdLaneFor: Math.min(quiet, longestHold) } : {};
      const spent = limits.maxAttempts !== undefined && attempt >= limits.maxAttempts;
      const tooLate = ages.sinceAccepted + dueIn > limits.maxAge || dueIn > (ages.untilDeadline ?? Infinity);
      return spent || tooLate
        ? { status: 'failed', attempt: { outcome: 'failed', error: outcome.kind }, ...hold }
        : { status: 'pending', attempt: { outcome: 'retried', error: outcome.kind }, dueIn, ...hold };
    }
  }
}
