import type { Provider } from '@nestjs/common';
import type { SchedulerRegistry } from '@nestjs/schedule';
import { currentVersion } from 'nest-deliveries/migrations';
import type { DataSource } from 'typeorm';
import { ChannelRegistry } from './channel/channel-registry';
import { DeliveryCleaner } from './clean-up/delivery-cleaner';
import { connectionOptionsOf } from './database/connection-options';
import { dataSourceToken, optionsToken, schedulerToken } from './module-tokens';
import { AttemptObserver } from './observe/attempt-observer';
import { AttemptTally } from './observe/attempt-tally';
import { DeliveriesHealthIndicator } from './observe/health/deliveries-health';
import { DatabaseProbe } from './observe/health/probe';
import { DeliveriesMetrics, registryOf } from './observe/metrics/deliveries-metrics';
import type { CleanUpState } from './observe/metrics/metrics-source';
import { ObserverDatabase } from './observe/observer-database';
import { QueueCounter } from './observe/queue-counter';
import type { ResolvedOptions } from './resolved-options';
import { WakeUps } from './wake-up/wake-ups';
import { DeliveryWorkers } from './worker/delivery-workers';

/** What watches the workers and the queue. Apart from the rest of the wiring, since nothing there needs it. */
export const observeProviders: Provider[] = [
  AttemptTally,
  {
    provide: AttemptObserver,
    inject: [AttemptTally, optionsToken],
    useFactory: (tally: AttemptTally, { logAttempts }: ResolvedOptions) => new AttemptObserver(tally, logAttempts),
  },
  {
    provide: ObserverDatabase,
    inject: [dataSourceToken, optionsToken],
    useFactory: (source: DataSource, { connection, health }: ResolvedOptions) =>
      new ObserverDatabase({ ...connectionOptionsOf(source), ...connection }, health.timeout),
  },
  {
    provide: QueueCounter,
    inject: [ObserverDatabase, ChannelRegistry, schedulerToken, optionsToken],
    useFactory: (
      database: ObserverDatabase,
      channels: ChannelRegistry,
      scheduler: SchedulerRegistry,
      { schema, timers }: ResolvedOptions,
    ) => new QueueCounter(database, () => namesOf(channels), scheduler, schema, timers),
  },
  {
    provide: DeliveriesMetrics,
    inject: [
      ChannelRegistry,
      AttemptTally,
      AttemptObserver,
      QueueCounter,
      DeliveryWorkers,
      DeliveryCleaner,
      WakeUps,
      optionsToken,
    ],
    useFactory: (
      channels: ChannelRegistry,
      tally: AttemptTally,
      observer: AttemptObserver,
      counter: QueueCounter,
      workers: DeliveryWorkers,
      cleaner: DeliveryCleaner,
      wakeUps: WakeUps,
      { metrics, cleanUpInterval }: ResolvedOptions,
    ) =>
      new DeliveriesMetrics(
        registryOf(metrics),
        metrics ? (metrics.prefix ?? '') : '',
        {
          channels: () => namesOf(channels),
          tally,
          durations: (channel) => observer.durationsOf(channel),
          pending: () => counter.latest,
          oldestTransaction: () => counter.oldestTransaction,
          inFlight: (channel) => workers.pulses().find((pulse) => pulse.channel === channel)?.inFlight ?? 0,
          listen: () => wakeUps.state,
          cleanUp: () => cleanUpState(cleaner, cleanUpInterval),
        },
        counter,
      ),
  },
  {
    provide: DeliveriesHealthIndicator,
    inject: [ObserverDatabase, QueueCounter, ChannelRegistry, DeliveryWorkers, DeliveryCleaner, WakeUps, optionsToken],
    useFactory: (
      database: ObserverDatabase,
      counter: QueueCounter,
      channels: ChannelRegistry,
      workers: DeliveryWorkers,
      cleaner: DeliveryCleaner,
      wakeUps: WakeUps,
      { schema, health, pollInterval, cleanUpInterval }: ResolvedOptions,
    ) =>
      new DeliveriesHealthIndicator(
        {
          pulses: () => workers.pulses(),
          listen: () => wakeUps.state,
          cleanUp: () => cleanUpState(cleaner, cleanUpInterval),
        },
        new DatabaseProbe(database, schema, health.timeout),
        counter,
        {
          ...health,
          pollInterval,
          longestLease: () => Math.max(0, ...channels.all().map(({ lease }) => lease)),
          schemaVersion: currentVersion,
        },
      ),
  },
];

const namesOf = (channels: ChannelRegistry): string[] => channels.all().map(({ name }) => name);

function cleanUpState({ totals, lastRun }: DeliveryCleaner, interval: number | undefined): CleanUpState {
  const { deleted, abandoned, events, auditEvents, orderings } = totals;
  return {
    cleaned: {
      ...deleted,
      abandoned_key: abandoned.keys,
      abandoned_delivery: abandoned.cancelled,
      event: events,
      audit_event: auditEvents,
      ordering: orderings,
    },
    lastCompleteAt: lastRun.completeAt,
    idleFor: interval === undefined ? undefined : lastRun.idleFor,
    interval,
  };
}
