import { countedOutcomes } from '../attempt-tally';
import { durationBounds, type Durations } from '../durations';
import { cleanedKinds, listenStates, type MetricsSource } from './metrics-source';

/** One line of a metric, without its name. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** `_bucket`, `_sum` or `_count` of a histogram. */
  readonly suffix?: string;
}

/** A metric: what it is called, and what an application says it is now. */
export interface MetricDefinition {
  /** Without the option `prefix`. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** How values of several processes, or of applications that share a registry, become one. */
  readonly aggregator: 'sum' | 'max';
  readonly read: (source: MetricsSource) => Sample[];
}

/** Every metric of the library. Labels are closed sets: channels of the application, outcomes, kinds, states. */
export const metricDefinitions: readonly MetricDefinition[] = [
  {
    name: 'deliveries_attempts_total',
    help: 'Attempts by how they ended, counted where the worker records it.',
    type: 'counter',
    aggregator: 'sum',
    read: ({ channels, tally }) =>
      channels().flatMap((channel) =>
        countedOutcomes.map((outcome) => ({ labels: { channel, outcome }, value: tally.of(channel)[outcome] })),
      ),
  },
  {
    name: 'deliveries_pending',
    help: 'Deliveries of the whole queue that wait for an attempt, or are being attempted. The same from every replica: take the maximum.',
    type: 'gauge',
    aggregator: 'max',
    read: ({ pending }) => [...pending()].map(([channel, count]) => ({ labels: { channel }, value: count.pending })),
  },
  {
    name: 'deliveries_oldest_pending_age_seconds',
    help: 'Seconds since the oldest pending delivery of the whole queue was created, or last retried by an operator. Take the maximum.',
    type: 'gauge',
    aggregator: 'max',
    read: ({ pending }) => [...pending()].map(([channel, count]) => ({ labels: { channel }, value: count.oldest })),
  },
  {
    name: 'deliveries_paused',
    help: '1 while a channel is paused as a whole. The same from every replica: take the maximum.',
    type: 'gauge',
    aggregator: 'max',
    read: ({ pending }) =>
      [...pending()].map(([channel, { paused }]) => ({ labels: { channel }, value: paused ? 1 : 0 })),
  },
  {
    name: 'deliveries_paused_lanes',
    help: 'Lanes of a channel that are paused, those included whose receiver asked for quiet. Take the maximum.',
    type: 'gauge',
    aggregator: 'max',
    read: ({ pending }) =>
      [...pending()].map(([channel, count]) => ({ labels: { channel }, value: count.pausedLanes })),
  },
  {
    name: 'deliveries_in_flight',
    help: 'Deliveries that this process is sending.',
    type: 'gauge',
    aggregator: 'sum',
    read: ({ channels, inFlight }) => channels().map((channel) => ({ labels: { channel }, value: inFlight(channel) })),
  },
  {
    name: 'deliveries_send_duration_seconds',
    help: 'How long a channel had a delivery, by channel.',
    type: 'histogram',
    aggregator: 'sum',
    read: ({ channels, durations }) => channels().flatMap((channel) => histogram(channel, durations(channel).sent)),
  },
  {
    name: 'deliveries_time_to_send_seconds',
    help: 'From when a delivery was due until its send began.',
    type: 'histogram',
    aggregator: 'sum',
    read: ({ channels, durations }) => channels().flatMap((channel) => histogram(channel, durations(channel).waited)),
  },
  {
    name: 'deliveries_listen_state',
    help: '1 for the state of what wakes this process’s workers; off and deaf leave it to polling.',
    type: 'gauge',
    aggregator: 'sum',
    read: ({ listen }) => listenStates.map((state) => ({ labels: { state }, value: listen() === state ? 1 : 0 })),
  },
  {
    name: 'deliveries_cleaned_total',
    help: 'What clean-up in this process deleted, and the keys and deliveries that it ended.',
    type: 'counter',
    aggregator: 'sum',
    read: ({ cleanUp }) => cleanedKinds.map((kind) => ({ labels: { kind }, value: cleanUp().cleaned[kind] })),
  },
  {
    name: 'deliveries_clean_up_timestamp_seconds',
    help: 'When this process last went through a whole clean-up, in seconds since 1970; missing before the first. Take the maximum.',
    type: 'gauge',
    aggregator: 'max',
    read: ({ cleanUp }) => known(cleanUp().lastCompleteAt, (at) => at / 1_000),
  },
  {
    name: 'deliveries_oldest_transaction_age_seconds',
    help: 'Age of the oldest transaction in the database: vacuum removes nothing that is younger. Take the maximum.',
    type: 'gauge',
    aggregator: 'max',
    read: ({ oldestTransaction }) => known(oldestTransaction(), (age) => age),
  },
];

const known = (value: number | undefined, of: (value: number) => number): Sample[] =>
  value === undefined ? [] : [{ labels: {}, value: of(value) }];

function histogram(channel: string, { counts, sum }: Durations): Sample[] {
  let total = 0;
  const buckets = [...durationBounds, '+Inf'].map((bound, index) => {
    total += counts[index]!;
    return { labels: { le: String(bound), channel }, value: total, suffix: '_bucket' };
  });
  return [
    ...buckets,
    { labels: { channel }, value: sum, suffix: '_sum' },
    { labels: { channel }, value: total, suffix: '_count' },
  ];
}
