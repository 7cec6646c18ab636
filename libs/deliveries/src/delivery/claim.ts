import type { Delivery } from './delivery';

/** A delivery that this process may send until its lease ends. */
export interface Claim {
  readonly delivery: Delivery;
  /** Proves, when the outcome is written, that the delivery is still this claim's. */
  readonly token: string;
  /** The number of the attempt that this claim is, from 1. */
  readonly attempt: number;
  /** The same, counted from the last operator retry. */
  readonly attemptSinceRetry: number;
  /** Attempts of this delivery whose worker vanished. */
  readonly crashes: number;
  /** The database's clock when it was claimed, in ms since 1970. */
  readonly claimedAt: number;
  /** This process's monotonic clock (`performance.now()`) just before the claim was asked for. */
  readonly askedAt: number;
  /** When it had been due, in microseconds since 1970. */
  readonly wasDueAt: number;
}

/** A row as every claiming statement returns it. */
export interface ClaimRow {
  readonly id: string;
  readonly event_id: string;
  readonly channel: string;
  readonly destination: string;
  readonly recipient: unknown;
  readonly payload: unknown;
  readonly ordering_key: string | null;
  readonly lane: string;
  readonly claim_token: string;
  readonly attempts: number;
  readonly attempts_at_retry: number;
  readonly crashes: number;
  /** In ms since 1970, as a number: the driver takes four times as long to read a date, for each of thousands of rows. */
  readonly created_ms: number;
  readonly retried_at: Date | null;
  readonly deadline: Date | null;
  readonly was_due_us: number;
  readonly claimed_ms: number;
}

/** @param askedAt `performance.now()` before the statement left */
export function claimOf(row: ClaimRow, askedAt: number): Claim {
  return {
    delivery: {
      id: row.id,
      eventId: row.event_id,
      channel: row.channel,
      destination: row.destination,
      recipient: row.recipient,
      payload: row.payload,
      orderingKey: row.ordering_key,
      lane: row.lane === '' ? null : row.lane,
      createdAt: new Date(row.created_ms),
      retriedAt: row.retried_at,
      deadline: row.deadline,
    },
    token: row.claim_token,
    attempt: row.attempts,
    attemptSinceRetry: row.attempts - row.attempts_at_retry,
    crashes: row.crashes,
    claimedAt: row.claimed_ms,
    askedAt,
    wasDueAt: row.was_due_us,
  };
}
