import type { Duration } from '../../delivery/duration';

/** What is done to many deliveries at once. */
export type BulkOperation = 'retry' | 'cancel';

/** How many deliveries a bulk operation would change, for whoever has to confirm it. */
export interface BulkCount extends CappedCount {
  /** Now, by the database's clock. Given to the operation, it changes nothing that came to match after this count. */
  readonly asOf: Date;
}

/** A count that stops where it would become expensive. */
export interface CappedCount {
  /** At most 10,000; at most 3,000 of what an operation would change. */
  readonly count: number;
  /** There are more than `count`. */
  readonly capped: boolean;
}

/** How a bulk operation is done. */
export interface BulkOptions {
  /** Who does this; it is recorded with each delivery. */
  readonly actor: string;
  /** Leaves alone what came to match after this instant: the `asOf` of the count that was confirmed. Default: now. */
  readonly asOf?: Date;
  /** Deliveries that one call changes at most, 1 to 10,000. Default 10,000. */
  readonly limit?: number;
  /** The `next` of the call before. */
  readonly after?: string;
}

/** How a bulk retry is done. */
export interface BulkRetryOptions extends BulkOptions {
  /**
   * Makes each due at a random moment within this long from now, 24 hours at most, so that a receiver that has just come back is
   * not run over. No delivery waits for longer than half of its channel's `maxAge`, nor past its own deadline. Default: all now.
   */
  readonly spreadOver?: Duration;
  /** The age of all that waits behind a retried delivery in its key restarts too. Default false. */
  readonly restartAgeBehind?: boolean;
}

/** What a bulk operation did. */
export interface BulkReport {
  /** Deliveries that were retried or cancelled. */
  readonly changed: number;
  /** Matched, but somebody else held them locked each time: run it again. */
  readonly busy: number;
  /** Where the next call goes on; undefined when nothing is left. */
  readonly next: string | undefined;
}
