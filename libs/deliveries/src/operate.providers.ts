import type { Provider } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { ChannelRegistry } from './channel/channel-registry';
import { dataSourceToken, optionsToken } from './module-tokens';
import { DeliveryOperations } from './operate/delivery-operations';
import type { ResolvedOptions } from './resolved-options';
import { WakeUps } from './wake-up/wake-ups';

/** What operators' routes, dashboard and commands call. */
export const operateProviders: Provider[] = [
  {
    provide: DeliveryOperations,
    inject: [dataSourceToken, ChannelRegistry, WakeUps, optionsToken],
    useFactory: (source: DataSource, channels: ChannelRegistry, wakeUps: WakeUps, { schema }: ResolvedOptions) =>
      new DeliveryOperations(source, channels, `"${schema}"`, (channel) => wakeUps.changed(channel)),
  },
];
