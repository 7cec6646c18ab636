import { Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import type { SchedulerRegistry } from '@nestjs/schedule';
import { codeOf, isOutage } from '../database/worker-database';
import type { ObserverDatabase } from './observer-database';
import { oldestTransactionSql, pendingSql } from './pending.sql';

/** How often every replica counts, in ms. */
export const countInterval = 30_000;
/** After which a count is given up, in ms: far more than a million rows take. */
const countDeadline = 5_000;

/** What is pending in a channel of the whole queue. */
export interface PendingCount {
  readonly pending: number;
  /** Seconds since the oldest pending delivery was created, or last retried by an operator; 0 when none waits. */
  readonly oldest: number;
  /** Whether the channel as a whole is paused. */
  readonly paused: boolean;
  /** Lanes of it that are paused. */
  readonly pausedLanes: number;
}

/**
 * Counts, for the whole queue, what is pending in each channel. What could not be counted is not known, rather than what it
 * was: its channel is left out until a count succeeds.
 */
export class QueueCounter implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Deliveries');
  private readonly intervalName: string;
  private readonly pendingText: string;
  private readonly counts = new Map<string, PendingCount>();
  /** Seconds; undefined when it could not be asked for. */
  oldestTransaction: number | undefined;
  private countedAt = -Infinity;
  private running: Promise<void> | undefined;
  private failing = false;
  private stopped = false;

  constructor(
    private readonly database: ObserverDatabase,
    private readonly channels: () => readonly string[],
    private readonly scheduler: SchedulerRegistry,
    schema: string,
    timers: string,
  ) {
    this.intervalName = `${timers}:count`;
    this.pendingText = pendingSql(`"${schema}"`);
  }

  /** From now on, and at once, counts every 30 seconds. */
  start(): void {
    if (this.scheduler.doesExist('interval', this.intervalName)) return;
    this.scheduler.addInterval(
      this.intervalName,
      setInterval(() => void this.runOnce(), countInterval),
    );
    void this.runOnce();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    if (this.scheduler.doesExist('interval', this.intervalName)) this.scheduler.deleteInterval(this.intervalName);
    await this.running;
  }

  /** By channel; one whose count failed is missing. */
  get latest(): ReadonlyMap<string, PendingCount> {
    return this.counts;
  }

  /** Whether the last pass could count every channel. */
  get isComplete(): boolean {
    return !this.failing && this.countedAt > -Infinity;
  }

  /** Counts again, unless it was done within the last `maxAge` ms. */
  async atMost(maxAge: number): Promise<ReadonlyMap<string, PendingCount>> {
    if (this.running || performance.now() - this.countedAt > maxAge) await this.runOnce();
    return this.counts;
  }

  /** One pass over the channels; a second call during a pass waits for the same one. */
  runOnce(): Promise<void> {
    this.running ??= this.pass().finally(() => (this.running = undefined));
    return this.running;
  }

  private async pass(): Promise<void> {
    let failed: unknown;
    const known = this.channels();
    for (const channel of known) {
      if (this.stopped) return;
      try {
        // A database that is away is asked once, not once for each channel.
        if (failed !== undefined && isAway(failed)) throw failed;
        this.counts.set(channel, await this.count(channel));
      } catch (error) {
        failed = error;
        this.counts.delete(channel);
      }
    }
    this.oldestTransaction = failed === undefined ? await this.askOldestTransaction() : undefined;
    this.countedAt = performance.now();
    this.report(failed);
  }

  private async count(channel: string): Promise<PendingCount> {
    const [row] = await this.database.read<CountRow>(this.pendingText, [channel], countDeadline);
    const { pending, oldest, pauses, lanes } = row!;
    return { pending, oldest: Math.max(0, oldest ?? 0), paused: pauses > 0, pausedLanes: lanes };
  }

  private async askOldestTransaction(): Promise<number | undefined> {
    const rows = await this.database.read<{ age: number }>(oldestTransactionSql, [], countDeadline).catch(() => []);
    return rows[0]?.age;
  }

  /** Once for each change. */
  private report(failed: unknown): void {
    if (failed !== undefined && !this.failing) {
      this.logger.warn(
        `Pending deliveries could not be counted (${codeOf(failed)}): their gauges are missing meanwhile.`,
      );
    }
    this.failing = failed !== undefined;
  }
}

interface CountRow {
  readonly pending: number;
  readonly oldest: number | null;
  readonly pauses: number;
  readonly lanes: number;
}

// 57014: the statement took too long, which says nothing about another channel's.
const isAway = (error: unknown): boolean => isOutage(error) && codeOf(error) !== '57014';
