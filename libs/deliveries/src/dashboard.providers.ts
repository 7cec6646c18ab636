import type { InjectionToken, Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ChannelRegistry } from './channel/channel-registry';
import { DeliveryCleaner } from './clean-up/delivery-cleaner';
import type { ResolvedOptions } from './deliveries.options';
import { DashboardActions } from './operate/dashboard/dashboard-actions';
import { DashboardPages } from './operate/dashboard/dashboard-pages';
import { DashboardResponder } from './operate/dashboard/dashboard-responder';
import type { MachineryFacts } from './operate/dashboard/pages/machinery';
import { DeliveryOperations } from './operate/delivery-operations';
import { WakeUps } from './wake-up/wake-ups';

/** What the dashboard's controller needs. @param options token of the resolved options */
export const dashboardProviders = (options: InjectionToken): Provider[] => [
  {
    provide: DashboardPages,
    inject: [DeliveryOperations, ChannelRegistry, WakeUps, DeliveryCleaner, options],
    useFactory: (operations: DeliveryOperations, ...facts: Parameters<typeof machineryFacts>) =>
      new DashboardPages(operations, () => machineryFacts(...facts)),
  },
  {
    provide: DashboardActions,
    inject: [DeliveryOperations, DashboardPages],
    useFactory: (operations: DeliveryOperations, pages: DashboardPages) => new DashboardActions(operations, pages),
  },
  {
    provide: DashboardResponder,
    inject: [HttpAdapterHost],
    useFactory: (host: HttpAdapterHost) => new DashboardResponder(host),
  },
];

function machineryFacts(
  channels: ChannelRegistry,
  wakeUps: WakeUps,
  cleaner: DeliveryCleaner,
  { run, cleanUpInterval }: ResolvedOptions,
): MachineryFacts {
  const { completeAt, idleFor } = cleaner.lastRun;
  return {
    wakeUps: wakeUps.state,
    cleanUpInterval,
    cleanedUpAt: completeAt === undefined ? undefined : new Date(completeAt),
    cleanUpIdleFor: idleFor,
    sends: channels
      .all()
      .filter(({ name, workers }) => workers > 0 && (!run || run.includes(name)))
      .map(({ name }) => name),
  };
}
