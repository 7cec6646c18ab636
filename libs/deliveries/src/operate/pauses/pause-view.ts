import type { Duration } from '../../delivery/duration';

/** A channel, or one of its lanes, that workers leave alone. */
export interface PauseView {
  readonly channel: string;
  /** Null: the whole channel. */
  readonly lane: string | null;
  /** `operator`, `retry_after` (a receiver asked for quiet), or a word of the channel's own. */
  readonly reason: string;
  /** Who paused it; null when a worker did. */
  readonly actor: string | null;
  readonly since: Date;
  /** Null: until somebody resumes it. */
  readonly until: Date | null;
}

/** Who pauses, and when it goes on by itself: by default when somebody resumes it. */
export interface PauseOptions {
  readonly actor: string;
  /** An instant that lies ahead. */
  readonly until?: Date;
  /** After this long, up to ten years, by the database's clock. Not together with `until`. */
  readonly for?: Duration;
}

/** What to pause or to resume. */
export interface PauseTarget {
  readonly channel: string;
  /** Default: the whole channel. */
  readonly lane?: string;
}
