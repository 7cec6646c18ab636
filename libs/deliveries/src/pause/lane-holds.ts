import type { WorkerDatabase } from '../database/worker-database';
import { holdLaneSql } from './hold-lane.sql';

/** Two wishes of one receiver that end within this many ms of each other are one. */
const tolerance = 500;

/**
 * Lanes that their receivers asked to leave alone. This process knows at once, the others as soon as the row is committed.
 */
export class LaneHolds {
  private readonly text: string;
  /** When each hold ends, by `performance.now()`. */
  private readonly until = new Map<string, number>();
  private readonly writing = new Set<Promise<unknown>>();

  constructor(
    private readonly database: WorkerDatabase,
    schema: string,
  ) {
    this.text = holdLaneSql(schema);
  }

  /** @param ms for how long, from now */
  hold(channel: string, lane: string, ms: number): void {
    const now = performance.now();
    const key = keyOf(channel, lane);
    if ((this.until.get(key) ?? 0) >= now + ms - tolerance) return;
    for (const [held, end] of this.until) if (end <= now) this.until.delete(held);
    this.until.set(key, now + ms);
    // A hold that PostgreSQL could not take is asked for again by the receiver's next answer, and logged with the outage.
    const write: Promise<unknown> = this.database
      .query('deliveries_hold_lane', this.text, [channel, lane, ms])
      .catch(() => undefined)
      .finally(() => this.writing.delete(write));
    this.writing.add(write);
  }

  /** Resolves when every hold of this process is committed, or could not be. */
  async written(): Promise<void> {
    await Promise.all(this.writing);
  }

  /** The lanes of a channel that this process knows to be held. */
  heldOf(channel: string): string[] {
    const now = performance.now();
    const prefix = keyOf(channel, '');
    return [...this.until].flatMap(([key, end]) =>
      end > now && key.startsWith(prefix) ? [key.slice(prefix.length)] : [],
    );
  }
}

/** A channel's name has no space in it. */
const keyOf = (channel: string, lane: string): string => `${channel} ${lane}`;
