import type { ChannelRegistry } from '../../channel/channel-registry';
import { milliseconds } from '../../delivery/duration';
import { InvalidRequestError } from '../../errors';
import { refuseUnknownKeys } from '../check-request';
import { countCap } from '../match/delivery-finder';
import type { Pauses } from '../pauses/pauses';
import type { Reader } from '../reader';
import { Cached } from './cached';
import type { ChannelStats, ChannelThroughput, QueueStats, Throughput, ThroughputOptions } from './overview-view';
import { statsSql } from './stats.sql';
import { fullBucketsSql, throughputSql } from './throughput.sql';

/** In ms: shorter than anybody presses a button twice, longer than a page needs for its parts. */
const fresh = 2_000;
/** In ms: twice as long as an open page waits before it asks again, so that it never waits for an answer. */
const usable = 10_000;
/** Pending deliveries of a channel whose rows are looked at, in each index that has them. */
const lookedAt = 2_000;
/** Rows that a chart counts one by one. */
const countedForChart = 40_000;
/** Parts in which a bucket is looked at that holds more than its share of them. */
const parts = 4;
const minute = 60_000;

/** How the queue stands, and what it did. */
export class Overview {
  private readonly statsText: string;
  private readonly throughputText: string;
  private readonly fullBucketsText: string;
  private readonly stats = new Cached<QueueStats>(fresh, usable);
  private readonly throughputs = new Cached<Throughput>(fresh, usable);

  constructor(
    private readonly reader: Reader,
    private readonly channels: ChannelRegistry,
    private readonly pauses: Pauses,
    schema: string,
  ) {
    this.statsText = statsSql(schema);
    this.throughputText = throughputSql(schema);
    this.fullBucketsText = fullBucketsSql(schema);
  }

  /** Somebody of this process changed something, and looks what became of it. */
  forget(): void {
    this.stats.forget();
  }

  now(): Promise<QueueStats> {
    return this.stats.get('', () => this.count());
  }

  async throughput(options: ThroughputOptions): Promise<Throughput> {
    const { window, bucket } = checkChart(options);
    return this.throughputs.get(`${window}/${bucket}`, () => this.chart(window, bucket));
  }

  private async count(): Promise<QueueStats> {
    const known = this.channels.all().map(({ name }) => name);
    const pauses = await this.pauses.all();
    const rows = await this.reader.rows<StatsRow>(this.statsText, [known, countCap, lookedAt]);
    const channels = rows.map((row): ChannelStats => {
      const own = pauses.filter(({ channel }) => channel === row.channel);
      return {
        channel: row.channel,
        known: known.includes(row.channel),
        pauses: own.filter(({ lane }) => lane === null),
        pausedLanes: own.filter(({ lane }) => lane !== null).length,
        pending: capped(row.pending),
        failed: capped(row.failed),
        due: row.due,
        inFlight: row.in_flight,
        oldestPendingSince: row.oldest,
      };
    });
    return { at: rows[0]?.at ?? new Date(), channels };
  }

  private async chart(window: number, bucketMs: number): Promise<Throughput> {
    const [clock] = await this.reader.rows<{ now: Date }>('SELECT clock_timestamp() AS now');
    const { now } = clock!;
    const count = Math.ceil(window / bucketMs);
    const start = (Math.floor(now.getTime() / bucketMs) - count + 1) * bucketMs;
    const asked = [start, bucketMs, count, countedForChart];
    const found = await this.reader.rows<ThroughputRow>(this.throughputText, asked);
    const rows = await this.closer(found, { start, bucketMs, now: now.getTime() });
    const names = [...new Set(rows.map(({ channel }) => channel))].toSorted();
    const channels = names.map((channel): ChannelThroughput => {
      const own = rows.filter((row) => row.channel === channel);
      const of = (status: ThroughputRow['status']): number[] => {
        const numbers = Array.from({ length: count }, () => 0);
        for (const row of own.filter((each) => each.status === status)) numbers[row.bucket] = row.count;
        return numbers;
      };
      return {
        channel,
        succeeded: of('succeeded'),
        failed: of('failed'),
        cancelled: of('cancelled'),
        estimated: own.some(({ estimated }) => estimated),
      };
    });
    const buckets = Array.from({ length: count }, (_, nth) => new Date(start + nth * bucketMs));
    return { since: new Date(start), until: now, bucketMs, buckets, channels };
  }

  /** Looks closer at buckets that hold more than their share, with what the others left of the rows to count. */
  private async closer(rows: readonly ThroughputRow[], { start, bucketMs, now }: Spell): Promise<Ended[]> {
    const full = rows.filter((row) => row.full);
    const exact = rows.filter((row) => !row.full).map((row) => ({ ...row, estimated: false }));
    if (full.length === 0) return exact;
    const left = countedForChart - exact.reduce((sum, { count }) => sum + count, 0);
    const partMs = bucketMs / parts;
    const startOf = (bucket: number, part: number): number => start + bucket * bucketMs + part * partMs;
    const found = await this.reader.rows<PartRow>(this.fullBucketsText, [
      full.map(({ channel }) => channel),
      full.map(({ status }) => status),
      full.map(({ bucket }) => startOf(bucket, 0)),
      partMs,
      parts,
      Math.max(10, Math.floor(left / (full.length * parts))),
    ]);
    const looked = full.map((row, at) => {
      const own = found.filter(({ full_one }) => full_one === at);
      // The part that is not over has not lasted as long as the others.
      const counts = own.map((each) => projected(each, Math.min(partMs, now - startOf(row.bucket, each.part))));
      const estimated = own.some((each) => each.full);
      return { ...row, count: counts.reduce((sum, count) => sum + count, 0), estimated };
    });
    return [...exact, ...looked];
  }
}

/** What a part of a bucket holds if it goes on as it began. */
const projected = ({ count, full, reached }: Counted, lasts: number): number =>
  full && reached > 0 ? Math.max(count, Math.round((count * lasts) / reached)) : count;

const capped = (count: number): { count: number; capped: boolean } => ({
  count: Math.min(count, countCap),
  capped: count > countCap,
});

function checkChart(options: ThroughputOptions): { window: number; bucket: number } {
  refuseUnknownKeys(options, ['window', 'bucket']);
  const window = milliseconds(options.window ?? '1h');
  if (window === undefined || window < minute || window > 7 * 24 * 60 * minute) {
    throw new InvalidRequestError('window', "must be a duration from '1m' to '7d'");
  }
  const bucket = options.bucket === undefined ? window / 60 : milliseconds(options.bucket);
  if (bucket === undefined || bucket < window / 120 || bucket > window) {
    throw new InvalidRequestError(
      'bucket',
      'must be a duration, no longer than the window and no shorter than a 120th of it',
    );
  }
  return { window, bucket };
}

interface StatsRow {
  readonly channel: string;
  readonly pending: number;
  readonly due: number;
  readonly in_flight: number;
  readonly oldest: Date | null;
  readonly failed: number;
  readonly at: Date;
}

interface Counted {
  readonly count: number;
  readonly full: boolean;
  readonly reached: number;
}

interface ThroughputRow extends Counted {
  readonly channel: string;
  readonly status: 'succeeded' | 'failed' | 'cancelled';
  readonly bucket: number;
}

interface PartRow extends Counted {
  readonly full_one: number;
  readonly part: number;
}

/** What a bucket holds. */
interface Ended extends Pick<ThroughputRow, 'channel' | 'status' | 'bucket' | 'count'> {
  readonly estimated: boolean;
}

/** In ms, the first two since 1970. */
interface Spell {
  readonly start: number;
  readonly now: number;
  readonly bucketMs: number;
}
