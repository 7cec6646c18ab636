import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { ChannelRegistry } from './channel/channel-registry';
import { DeliveryCleaner } from './clean-up/delivery-cleaner';
import { connectionOptionsOf } from './database/connection-options';
import { WorkerDatabase } from './database/worker-database';
import { dataSourceToken, optionsToken, schedulerToken } from './module-tokens';
import { AttemptObserver } from './observe/attempt-observer';
import { ChannelPauses } from './pause/channel-pauses';
import { DeliveryRecorder } from './record/delivery-recorder';
import type { ResolvedOptions } from './resolved-options';
import { RuntimeChannels } from './runtime-channels';
import { WakeUps } from './wake-up/wake-ups';
import { DeliveryWorkers } from './worker/delivery-workers';

/** What sends and cleans up, on connections of its own. */
export const workerProviders: Provider[] = [
  {
    provide: WorkerDatabase,
    inject: [dataSourceToken, optionsToken],
    useFactory: (source: DataSource, { poolSize, connection }: ResolvedOptions) =>
      new WorkerDatabase({ ...connectionOptionsOf(source), max: poolSize, ...connection }),
  },
  {
    provide: WakeUps,
    inject: [dataSourceToken, WorkerDatabase, optionsToken],
    useFactory: (source: DataSource, database: WorkerDatabase, { schema, listen, connection }: ResolvedOptions) => {
      const likeWorkers = { ...connectionOptionsOf(source), ...connection };
      const connect = typeof listen === 'object' ? listen.connection : listen ? likeWorkers : undefined;
      return new WakeUps(database, schema, connect);
    },
  },
  {
    provide: DeliveryWorkers,
    inject: [dataSourceToken, WorkerDatabase, ChannelRegistry, schedulerToken, AttemptObserver, WakeUps, optionsToken],
    useFactory: (...injected: ConstructorParameters<typeof DeliveryWorkers>) => new DeliveryWorkers(...injected),
  },
  {
    provide: ChannelPauses,
    inject: [WorkerDatabase, WakeUps, optionsToken],
    useFactory: (database: WorkerDatabase, wakeUps: WakeUps, { schema }: ResolvedOptions) =>
      new ChannelPauses(database, `"${schema}"`, (channel) => wakeUps.changed(channel)),
  },
  {
    provide: RuntimeChannels,
    inject: [ChannelRegistry, DeliveryRecorder, DeliveryWorkers, dataSourceToken, optionsToken],
    useFactory: (
      registry: ChannelRegistry,
      recorder: DeliveryRecorder,
      workers: DeliveryWorkers,
      source: DataSource,
      { schema }: ResolvedOptions,
    ) => new RuntimeChannels(registry, recorder, workers, source, `"${schema}"`),
  },
  {
    provide: DeliveryCleaner,
    inject: [WorkerDatabase, ChannelRegistry, schedulerToken, optionsToken],
    useFactory: (...injected: ConstructorParameters<typeof DeliveryCleaner>) => new DeliveryCleaner(...injected),
  },
];
