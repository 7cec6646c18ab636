import type { CappedCount } from '../bulk/bulk-view';
import type { PauseView } from '../pauses/pause-view';

/**
 * How the queue stands, channel by channel: as it was ten seconds ago at most, and after whatever was changed through this process.
 * However many people look, it is counted every two seconds at most.
 */
export interface QueueStats {
  /** When it was counted, by the database's clock. */
  readonly at: Date;
  /** Channels of this application and those that have deliveries, by name. */
  readonly channels: readonly ChannelStats[];
}

export interface ChannelStats {
  readonly channel: string;
  /** A class of this process declares it. Deliveries of others wait for a process that does. */
  readonly known: boolean;
  /** What holds back the whole channel; empty while it runs. */
  readonly pauses: readonly PauseView[];
  /** Lanes of it that are held back, at most 1,000. */
  readonly pausedLanes: number;
  /** Waiting, backing off or being sent. */
  readonly pending: CappedCount;
  readonly failed: CappedCount;
  /**
   * Those that a worker could take now, apart from order and pauses: 2,000 at most, and of those with an ordering key among the first
   * 2,000 by key.
   */
  readonly due: number;
  /** Those that are being sent: of those without an ordering key among the next 2,000 to be due, with the end of a lease counted as due. */
  readonly inFlight: number;
  /** Of those counted as pending: when the one that has waited longest was created, or last retried by an operator. */
  readonly oldestPendingSince: Date | null;
}

/** What is asked of `throughput`. */
export interface ThroughputOptions {
  /** How far back it reaches, 1 minute to 7 days. Default `'1h'`. Deliveries past their retention are not counted. */
  readonly window?: number | `${number}${'s' | 'm' | 'h' | 'd'}`;
  /** Length of a bucket; at most 120 fit into the window. Default: a sixtieth of the window. */
  readonly bucket?: number | `${number}${'s' | 'm' | 'h' | 'd'}`;
}

/** How many deliveries ended, over time. */
export interface Throughput {
  readonly since: Date;
  readonly until: Date;
  readonly bucketMs: number;
  /** Start of each bucket, from the oldest; the last one is not over yet. */
  readonly buckets: readonly Date[];
  readonly channels: readonly ChannelThroughput[];
}

/** One number for each bucket. */
export interface ChannelThroughput {
  readonly channel: string;
  readonly succeeded: readonly number[];
  /** Failed and not retried since. */
  readonly failed: readonly number[];
  readonly cancelled: readonly number[];
  /** Some numbers are projections: a bucket held more than was counted one by one. */
  readonly estimated: boolean;
}
