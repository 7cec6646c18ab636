import { v7 as uuidv7 } from 'uuid';
import type { WorkerStatement } from '../database/worker-database';
import { abandonSql, countWaitingSql, lockFailuresSql, lockOrderingsSql } from './abandon.sql';

/** What one transaction did. */
export interface Abandoned {
  readonly keys: number;
  /** Deliveries that waited behind the failures, and are cancelled. */
  readonly cancelled: number;
  /** Where the next transaction goes on; undefined when there is nothing more. */
  readonly next: AbandonCursor | undefined;
}

/** The failure that the last transaction ended with. */
export interface AbandonCursor {
  /** µs since 1970. */
  readonly failedAt: number;
  readonly id: string;
}

interface Failure {
  readonly id: string;
  readonly ordering_key: string;
  readonly ordinal: string;
  readonly failed_us: number;
}

/** Keys and, a key always whole, rows that one transaction covers: what an operator, or a recorder of such a key, waits for. */
const keysAtOnce = 1_000;
const rowsAtOnce = 10_000;

const start: AbandonCursor = { failedAt: 0, id: '00000000-0000-0000-0000-000000000000' };

/** Gives up keys whose first delivery failed too long ago: the failure goes, and what waits behind it is cancelled. */
export class KeyAbandoner {
  private readonly lockFailures: string;
  private readonly lockOrderings: string;
  private readonly countWaiting: string;
  private readonly abandonText: string;

  constructor(schema: string) {
    this.lockFailures = lockFailuresSql(schema);
    this.lockOrderings = lockOrderingsSql(schema);
    this.countWaiting = countWaitingSql(schema);
    this.abandonText = abandonSql(schema);
  }

  /**
   * Abandons keys of a channel, in the transaction that `run` belongs to.
   * @param after ms since the failure
   */
  async abandon(run: WorkerStatement, channel: string, after: number, from = start): Promise<Abandoned> {
    const found = await run<Failure>(this.lockFailures, [channel, after, from.failedAt, from.id, keysAtOnce]);
    const free = await this.withoutRecorder(run, channel, found);
    const waiting = await this.counted(run, channel, free);
    // What was not counted any more belongs to the next transaction, and so does what follows it.
    const stoppedAt = free[waiting.length];
    const seen = stoppedAt ? found.slice(0, found.indexOf(stoppedAt)) : found;
    const last = seen.at(-1);
    const next =
      last && (stoppedAt || found.length === keysAtOnce) ? { failedAt: last.failed_us, id: last.id } : undefined;
    if (waiting.length === 0) return { keys: 0, cancelled: 0, next };

    const failures = free.slice(0, waiting.length);
    const [done] = await run<{ keys: number; cancelled: number }>(this.abandonText, [
      channel,
      failures.map(({ id }) => id),
      failures.map(({ ordering_key }) => ordering_key),
      failures.map(({ ordinal }) => ordinal),
      waiting,
      failures.map(() => uuidv7()),
    ]);
    return { ...done!, next };
  }

  /** The failures whose keys no open transaction has recorded under; their keys are locked from here on. */
  private async withoutRecorder(run: WorkerStatement, channel: string, failures: Failure[]): Promise<Failure[]> {
    if (failures.length === 0) return [];
    const keys = failures.map(({ ordering_key }) => ordering_key);
    const locked = await run<{ ordering_key: string }>(this.lockOrderings, [channel, keys]);
    const free = new Set(locked.map(({ ordering_key }) => ordering_key));
    return failures.filter(({ ordering_key }) => free.has(ordering_key));
  }

  /** How many deliveries wait behind each of the first failures, as many as fit into one transaction. */
  private async counted(run: WorkerStatement, channel: string, failures: Failure[]): Promise<number[]> {
    if (failures.length === 0) return [];
    const rows = await run<{ waiting: number }>(this.countWaiting, [
      channel,
      failures.map(({ id }) => id),
      failures.map(({ ordering_key }) => ordering_key),
      failures.map(({ ordinal }) => ordinal),
      rowsAtOnce,
    ]);
    return rows.map(({ waiting }) => waiting);
  }
}
