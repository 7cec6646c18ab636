import type { Delivery } from '../delivery/delivery';
import type { WorkerDatabase } from '../database/worker-database';
import { claimSql, giveBackSql } from './claim.sql';

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

interface ClaimRow {
  id: string;
  event_id: string;
  destination: string;
  recipient: unknown;
  payload: unknown;
  claim_token: string;
  attempts: number;
  attempts_at_retry: number;
  crashes: number;
  created_at: Date;
  retried_at: Date | null;
  deadline: Date | null;
  was_due_us: number;
  claimed_at: Date;
}

/** Takes deliveries of a channel for this process, and gives back those that it will not send after all. */
export class Claimer {
  private readonly claimText: string;
  private readonly giveBackText: string;

  constructor(
    private readonly database: WorkerDatabase,
    schema: string,
  ) {
    this.claimText = claimSql(schema);
    this.giveBackText = giveBackSql(schema);
  }

  /**
   * Claims up to `slots` due deliveries, longest due first.
   * @param lease in ms
   * @param dueFrom lower bound of the due time, in microseconds since 1970; 0 for none
   */
  async claim(channel: string, slots: number, lease: number, dueFrom: number): Promise<Claim[]> {
    // Read before the statement leaves: however long the reply takes, the lease is never thought longer than it is.
    const askedAt = performance.now();
    const rows = await this.database.query<ClaimRow>('deliveries_claim', this.claimText, [
      channel,
      slots,
      lease,
      dueFrom,
    ]);
    return rows.map((row) => claimOf(channel, row, askedAt)).toSorted((a, b) => a.wasDueAt - b.wasDueAt);
  }

  /**
   * Gives claims back without an attempt.
   * @param dueAt when each is due again, in microseconds since 1970
   */
  async giveBack(claims: readonly Claim[], dueAt: (claim: Claim) => number): Promise<void> {
    await this.database.query('deliveries_give_back', this.giveBackText, [
      claims.map((claim) => claim.delivery.id),
      claims.map((claim) => claim.token),
      claims.map(dueAt),
    ]);
  }
}

function claimOf(channel: string, row: ClaimRow, askedAt: number): Claim {
  return {
    delivery: {
      id: row.id,
      eventId: row.event_id,
      channel,
      destination: row.destination,
      recipient: row.recipient,
      payload: row.payload,
      createdAt: row.created_at,
      retriedAt: row.retried_at,
      deadline: row.deadline,
    },
    token: row.claim_token,
    attempt: row.attempts,
    attemptSinceRetry: row.attempts - row.attempts_at_retry,
    crashes: row.crashes,
    claimedAt: row.claimed_at.getTime(),
    askedAt,
    wasDueAt: row.was_due_us,
  };
}
