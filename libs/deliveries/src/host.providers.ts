import type { InjectionToken, Provider } from '@nestjs/common';
import { SchedulerRegistry } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { postgresOptionsOf } from './database/connection-options';
import { DeliveriesOptionsError } from './errors';
import { dataSourceToken, schedulerToken } from './module-tokens';
import { requireToken } from './option-rules';

/**
 * What the host must have: asked for once, so that one sentence says what is missing, in the place of Nest's own error.
 * @param dataSource where the host provides its `DataSource`
 * @throws DeliveriesOptionsError for what can be no token
 */
export function hostProviders(dataSource: InjectionToken = DataSource): Provider[] {
  requireToken('DeliveriesModule', 'dataSource', dataSource);
  return [
    {
      provide: dataSourceToken,
      inject: [{ token: dataSource, optional: true }],
      useFactory: (found: DataSource | undefined) => requireDataSource(found, dataSource),
    },
    {
      provide: schedulerToken,
      inject: [{ token: SchedulerRegistry, optional: true }],
      useFactory: requireScheduler,
    },
  ];
}

function requireDataSource(dataSource: DataSource | undefined, token: InjectionToken): DataSource {
  if (dataSource) {
    postgresOptionsOf(dataSource);
    return dataSource;
  }
  const sought = typeof token === 'function' ? `the class ${token.name}` : JSON.stringify(token.toString());
  throw new DeliveriesOptionsError(
    `DeliveriesModule: dataSource must be the injection token of a TypeORM DataSource; nothing is provided under ${sought}. Import ` +
      "TypeOrmModule.forRoot(…) in the root module, or pass dataSource: getDataSourceToken('name') for a named one.",
  );
}

function requireScheduler(scheduler: SchedulerRegistry | undefined): SchedulerRegistry {
  if (scheduler) return scheduler;
  throw new DeliveriesOptionsError(
    'DeliveriesModule needs the SchedulerRegistry of @nestjs/schedule, and it is not there. Import ScheduleModule.forRoot() in the root module.',
  );
}
