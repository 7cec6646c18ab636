import type { NewDelivery } from './queue-model';

interface Recorded {
  readonly deliveries: NewDelivery[];
  /** How many savepoints were open when it was recorded. */
  depth: number;
}

/** An ordering key that a transaction holds. */
interface Hold {
  /** How many savepoints were open when it was taken, less those that were released since. */
  depth: number;
  /** The same of the last time: a step that wants a key of its own transaction takes it again. */
  lastDepth: number;
  /** A savepoint in which it was taken, first or again, was released. */
  outlived: boolean;
}

/** An open transaction of a recorder as the model knows it. */
interface Transaction {
  readonly how: 'plain' | 'recorder';
  readonly savepoints: ('raw' | 'nested')[];
  readonly recorded: Recorded[];
  readonly holds: Map<string, Hold>;
  waiting:
    { readonly step: 'record' | 'commit'; remaining: string[]; readonly record: Recorded | undefined } | undefined;
}

/** What a step, or the end of another transaction, does to a recorder's step. */
export type Progress = 'done' | 'waits';

export const lockOf = ({ channel, key }: Pick<NewDelivery, 'channel' | 'key'>): string => `${channel}/${key}`;

/**
 * The recorders' transactions and the ordering keys that they hold, in plain TypeScript: who waits for whom, and what a
 * commit makes visible.
 *
 * Three rules keep the schedule the history's alone: a step that would end in a deadlock is not taken; of several that would
 * wait for the same key only the first is, since PostgreSQL does not say which of them goes on; and a savepoint is not rolled
 * back where PostgreSQL does not say when a wait ends ({@link mayRollBackToSavepoint}).
 */
export class RecordersModel {
  private readonly open = new Map<number, Transaction>();

  constructor(private readonly onCommit: (deliveries: NewDelivery[], events: number[][]) => void) {}

  of(session: number): Transaction | undefined {
    return this.open.get(session);
  }

  sessions(): number[] {
    return [...this.open.keys()];
  }

  begin(session: number, how: 'plain' | 'recorder'): void {
    this.open.set(session, { how, savepoints: [], recorded: [], holds: new Map(), waiting: undefined });
  }

  /** The keys that the step takes at once: a plain transaction's when it records, the others' when they commit. */
  private wants(how: 'plain' | 'recorder', step: 'record' | 'commit', deliveries: readonly NewDelivery[]): string[] {
    if (how === 'plain' ? step === 'commit' : step === 'record') return [];
    return [...new Set(deliveries.filter(({ key }) => key !== null).map(lockOf))].toSorted();
  }

  /** False when the step could wait in a circle, or beside another that waits for the same key. */
  mayRecord(session: number, how: 'plain' | 'recorder', drafts: readonly NewDelivery[]): boolean {
    return this.mayTake(session, this.wants(this.open.get(session)?.how ?? how, 'record', drafts));
  }

  /** The same of its commit. */
  mayCommit(session: number): boolean {
    const { how } = this.open.get(session)!;
    return this.mayTake(session, this.wants(how, 'commit', this.recordedBy(session)));
  }

  private recordedBy(session: number): NewDelivery[] {
    return this.open.get(session)!.recorded.flatMap(({ deliveries }) => deliveries);
  }

  private mayTake(session: number, keys: readonly string[]): boolean {
    return keys.every((key) => {
      const holder = this.holderOf(key);
      if (holder === session) return true;
      if (holder !== undefined && this.waitsFor(holder, session)) return false;
      return !this.sessions().some(
        (other) => other !== session && this.open.get(other)!.waiting?.remaining.includes(key),
      );
    });
  }

  private waitsFor(session: number, other: number): boolean {
    if (session === other) return true;
    const remaining = this.open.get(session)?.waiting?.remaining ?? [];
    return remaining.some((key) => {
      const holder = this.holderOf(key);
      return holder !== undefined && holder !== session && this.waitsFor(holder, other);
    });
  }

  holderOf(key: string): number | undefined {
    return this.sessions().find((session) => this.open.get(session)!.holds.has(key));
  }

  /** The recorder that this one waits for. */
  blockerOf(session: number): number | undefined {
    const key = this.open.get(session)?.waiting?.remaining[0];
    return key === undefined ? undefined : this.holderOf(key);
  }

  record(session: number, deliveries: NewDelivery[]): Progress {
    const transaction = this.open.get(session)!;
    const record = { deliveries, depth: transaction.savepoints.length };
    transaction.waiting = { step: 'record', remaining: this.wants(transaction.how, 'record', deliveries), record };
    return this.goOn(session);
  }

  commit(session: number): Progress {
    const transaction = this.open.get(session)!;
    const remaining = this.wants(transaction.how, 'commit', this.recordedBy(session));
    transaction.waiting = { step: 'commit', remaining, record: undefined };
    return this.goOn(session);
  }

  private goOn(session: number): Progress {
    const transaction = this.open.get(session)!;
    const waiting = transaction.waiting!;
    while (waiting.remaining.length > 0) {
      const [key] = waiting.remaining as [string];
      const holder = this.holderOf(key);
      if (holder !== undefined && holder !== session) return 'waits';
      const depth = transaction.savepoints.length;
      const hold = transaction.holds.get(key);
      if (hold) hold.lastDepth = depth;
      else transaction.holds.set(key, { depth, lastDepth: depth, outlived: false });
      waiting.remaining = waiting.remaining.slice(1);
    }
    transaction.waiting = undefined;
    if (waiting.record) transaction.recorded.push(waiting.record);
    if (waiting.step === 'commit') {
      const events = transaction.recorded.map(({ deliveries }) => deliveries.map(({ n }) => n));
      this.onCommit(this.recordedBy(session), events);
      this.open.delete(session);
    }
    return 'done';
  }

  rollBack(session: number): void {
    this.open.delete(session);
  }

  savepoint(session: number, how: 'raw' | 'nested'): void {
    this.open.get(session)!.savepoints.push(how);
  }

  release(session: number): void {
    const transaction = this.open.get(session)!;
    transaction.savepoints.pop();
    const depth = transaction.savepoints.length;
    for (const each of transaction.recorded) each.depth = Math.min(each.depth, depth);
    for (const hold of transaction.holds.values()) {
      if (hold.lastDepth > depth) hold.outlived = true;
      hold.depth = Math.min(hold.depth, depth);
      hold.lastDepth = Math.min(hold.lastDepth, depth);
    }
  }

  /**
   * False when somebody waits for a key that was taken in a savepoint inside this one, which was released. Its release wakes the
   * waiter, who then waits for the end of the whole transaction, or finds the outer savepoint rolled back already: that is a race.
   */
  mayRollBackToSavepoint(session: number): boolean {
    const { savepoints, holds } = this.open.get(session)!;
    const wanted = new Set(this.sessions().map((other) => this.open.get(other)!.waiting?.remaining[0]));
    return [...holds].every(([key, { depth, outlived }]) => depth < savepoints.length || !outlived || !wanted.has(key));
  }

  rollBackToSavepoint(session: number): void {
    const transaction = this.open.get(session)!;
    const depth = transaction.savepoints.length;
    transaction.savepoints.pop();
    const kept = transaction.recorded.filter((each) => each.depth < depth);
    transaction.recorded.splice(0, transaction.recorded.length, ...kept);
    for (const [key, hold] of transaction.holds) if (hold.depth >= depth) transaction.holds.delete(key);
  }

  /**
   * After locks were let go: who goes on, and how far. Whoever commits lets go of locks too, so it is asked until nothing
   * changes.
   */
  wakeUp(): { session: number; step: 'record' | 'commit'; progress: Progress }[] {
    const woken: { session: number; step: 'record' | 'commit'; progress: Progress }[] = [];
    for (let changed = true; changed;) {
      changed = false;
      for (const session of this.sessions()) {
        const { waiting } = this.open.get(session)!;
        if (!waiting) continue;
        const before = waiting.remaining.length;
        const progress = this.goOn(session);
        if (progress === 'waits' && waiting.remaining.length === before) continue;
        woken.push({ session, step: waiting.step, progress });
        changed = true;
      }
    }
    return woken;
  }
}
