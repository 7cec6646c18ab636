import { claimOf, type Claim, type ClaimRow } from '../delivery/claim';
import type { Settlement } from './decide-settlement';
import type { HookedWrite } from './write-with-hook';

/** An outcome on its way into the tables. */
export interface OutcomeToWrite {
  readonly id: string;
  readonly token: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  readonly settlement: Settlement;
  /** When the attempt started, by the database's clock, in ms since 1970. */
  readonly startedAt: number;
  /** `performance.now()` after which a write that fails is not tried again: when the lease is nearly over. */
  readonly giveUpAt: number;
  /** Lease, in ms, for the delivery that comes after this one in its key, which is then claimed in the same commit. */
  readonly chainLease?: number | undefined;
  /** The channel of an ordered delivery has not returned: its key waits until the lease ends. */
  readonly stillSending?: boolean;
  /** Present when the channel wants to write something of its own in the settling transaction. */
  readonly withHook?: HookedWrite;
}

/** What the statement says of one outcome. */
export interface SettleAnswer {
  readonly answer: 'settled' | 'locked' | 'gone';
  readonly next?: Claim | undefined;
}

/** A row of the settle statement: one for each outcome, by its place from 1, and in it, where one was claimed, the next delivery of the key. */
export type SettleRow = { after: number; answer: SettleAnswer['answer'] } & (ClaimRow | { id: null });

/** @param askedAt `performance.now()` before the statement left */
export const answerOf = (row: SettleRow, chainToken: string, askedAt: number): SettleAnswer => ({
  answer: row.answer,
  next: row.id === null ? undefined : claimOf(row, chainToken, askedAt),
});

/**
 * The parameters of the settle statement for a batch.
 * @param chainToken for what is claimed after those that were settled
 */
export function settleParameters(batch: readonly OutcomeToWrite[], chainToken: string): unknown[] {
  return [
    batch.map((entry) => entry.id),
    batch.map((entry) => entry.token),
    batch.map((entry) => entry.settlement.status),
    batch.map(({ settlement }) => (settlement.status === 'pending' ? settlement.dueIn : null)),
    batch.map((entry) => entry.settlement.attempt?.outcome ?? null),
    batch.map((entry) => entry.settlement.attempt?.error ?? null),
    batch.map((entry) => (entry.settlement.attempt ? new Date(entry.startedAt) : null)),
    batch.map((entry) => entry.chainLease ?? null),
    batch.map((entry) => entry.stillSending ?? false),
    chainToken,
  ];
}
