import type { Provider } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ChannelRegistry } from './channel/channel-registry';
import { DeliveryCleaner } from './clean-up/delivery-cleaner';
import { optionsToken } from './module-tokens';
import { DashboardActions } from './operate/dashboard/dashboard-actions';
import { DashboardPages } from './operate/dashboard/dashboard-pages';
import { DashboardResponder } from './operate/dashboard/dashboard-responder';
import type { MachineryFacts } from './operate/dashboard/pages/machinery';
import { DeliveryOperations } from './operate/delivery-operations';
import type { ResolvedOptions } from './resolved-options';
import { WakeUps } from './wake-up/wake-ups';

export { adminParts } from './operate/admin/admin-parts';

/** What the dashboard's controller needs. */
export const dashboardProviders: Provider[] = [
  {
    provide: DashboardPages,
    inject: [DeliveryOperations, ChannelRegistry, WakeUps, DeliveryCleaner, optionsToken],
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
