import type { Provider } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import type { DataSource } from 'typeorm';
import { ChannelRegistry } from './channel/channel-registry';
import { dataSourceToken, optionsToken } from './module-tokens';
import { CommitWatch } from './record/commit-watch';
import { DeliveryInserter } from './record/delivery-inserter';
import { DeliveryRecorder } from './record/delivery-recorder';
import { QueryInserter } from './record/query-inserter';
import type { ResolvedOptions } from './resolved-options';
import { WakeUps } from './wake-up/wake-ups';

/** What records, on the connections of the host's transactions. */
export const recordProviders: Provider[] = [
  {
    provide: ChannelRegistry,
    inject: [DiscoveryService, optionsToken],
    useFactory: (discovery: DiscoveryService, resolved: ResolvedOptions) => new ChannelRegistry(discovery, resolved),
  },
  {
    provide: DeliveryRecorder,
    inject: [dataSourceToken, ChannelRegistry, CommitWatch, optionsToken],
    useFactory: (source: DataSource, channels: ChannelRegistry, commits: CommitWatch, { schema }: ResolvedOptions) =>
      new DeliveryRecorder(
        source,
        channels,
        new DeliveryInserter(`"${schema}"`),
        new QueryInserter(`"${schema}"`),
        commits,
      ),
  },
  {
    provide: CommitWatch,
    inject: [dataSourceToken, WakeUps],
    useFactory: (source: DataSource, wakeUps: WakeUps) => new CommitWatch(source, (work) => wakeUps.committed(work)),
  },
];
