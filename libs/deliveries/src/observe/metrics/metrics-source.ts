import type { AttemptTally } from '../attempt-tally';
import type { ChannelDurations } from '../attempt-observer';
import type { PendingCount } from '../queue-counter';

/** States of what wakes this process's workers; `deaf` is connected to something that passes no notifications on. */
export const listenStates = ['off', 'connecting', 'listening', 'deaf'] as const;

export type ListenState = (typeof listenStates)[number];

/** What clean-up deleted or ended in this process, by kind. */
export const cleanedKinds = [
  'succeeded',
  'failed',
  'cancelled',
  'abandoned_key',
  'abandoned_delivery',
  'event',
  'audit_event',
  'ordering',
] as const;

export type CleanedKind = (typeof cleanedKinds)[number];

export interface CleanUpState {
  readonly cleaned: Readonly<Record<CleanedKind, number>>;
  /** When the last pass that went through ended, in ms since 1970; undefined before the first. */
  readonly lastCompleteAt: number | undefined;
  /** For how long no pass has ended without an error, in ms; undefined when this process does not clean up by itself. */
  readonly idleFor: number | undefined;
  /** How often it should, in ms. */
  readonly interval: number | undefined;
}

/** What one application has to tell; read when somebody asks for metrics or for its health. */
export interface MetricsSource {
  readonly channels: () => readonly string[];
  readonly tally: Pick<AttemptTally, 'of'>;
  readonly durations: (channel: string) => ChannelDurations;
  readonly pending: () => ReadonlyMap<string, PendingCount>;
  /** Seconds; undefined while it is not known. */
  readonly oldestTransaction: () => number | undefined;
  readonly inFlight: (channel: string) => number;
  readonly listen: () => ListenState;
  readonly cleanUp: () => CleanUpState;
}
