import type { Delivery } from './delivery';

/** A delivery that this process may send until its lease ends. */
export interface Claim {
  readonly delivery: Delivery;
  /**
   * Proves, together with the delivery's id, that the delivery is still this claim's. Those that were claimed by one statement share
   * it: a fresh one for each row was a tenth of what a claim cost.
   */
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

/** Where a delivery stands in the queue. */
interface Place {
  readonly channel: string;
  readonly ordering_key: string | null;
  readonly lane: string;
}

/** A row as every claiming statement returns it. Of an unordered delivery without a lane nobody needs to be told its place. */
export interface UnplacedRow {
  readonly id: string;
  readonly event_id: string;
  readonly destination: string;
  readonly recipient: unknown;
  readonly payload: unknown;
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

export type ClaimRow = UnplacedRow & Place;

/** @param askedAt `performance.now()` before the statement left */
export const claimOf = (row: ClaimRow, token: string, askedAt: number): Claim =>
  placedClaimOf(row, row, token, askedAt);

/** The same of a row that does not tell its place. */
export function placedClaimOf(row: UnplacedRow, place: Place, token: string, askedAt: number): Claim {
  return {
    delivery: {
      id: row.id,
      eventId: row.event_id,
      channel: place.channel,
      destination: row.destination,
      recipient: row.recipient,
      payload: row.payload,
      orderingKey: place.ordering_key,
      lane: place.lane === '' ? null : place.lane,
      createdAt: new Date(row.created_ms),
      retriedAt: row.retried_at,
      deadline: row.deadline,
    },
    token,
    attempt: row.attempts,
    attemptSinceRetry: row.attempts - row.attempts_at_retry,
    crashes: row.crashes,
    claimedAt: row.claimed_ms,
    askedAt,
    wasDueAt: row.was_due_us,
  };
}
