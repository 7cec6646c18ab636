import {
  Inject,
  Module,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  type ModuleMetadata,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { DataSource } from 'typeorm';
import { dashboardProviders } from './dashboard.providers';
import { connectionOptionsOf, postgresOptionsOf } from './database/connection-options';
import { WorkerDatabase } from './database/worker-database';
import { DeliveryCleaner } from './clean-up/delivery-cleaner';
import { guardHostConnections } from './database/guard-connections';
import { migrateSchema, requireCurrentSchema } from './database/schema';
import { resolveOptions, type DeliveriesOptions, type ResolvedOptions } from './deliveries.options';
import { DeliveriesOptionsError } from './errors';
import { adminParts } from './operate/admin/admin-parts';
import type { AdminOptions } from './operate/admin/admin-options';
import { checkModuleName, deliveriesToken, moduleNameToken } from './module-name';
import { AttemptObserver } from './observe/attempt-observer';
import { AttemptTally } from './observe/attempt-tally';
import { DeliveriesHealthIndicator } from './observe/health/deliveries-health';
import { DeliveriesMetrics } from './observe/metrics/deliveries-metrics';
import { QueueCounter } from './observe/queue-counter';
import { observeProviders } from './observe.providers';
import { DeliveryOperations } from './operate/delivery-operations';
import { ChannelPauses } from './pause/channel-pauses';
import { CommitWatch } from './record/commit-watch';
import { DeliveryInserter } from './record/delivery-inserter';
import { DeliveryRecorder } from './record/delivery-recorder';
import { QueryInserter } from './record/query-inserter';
import { ChannelRegistry } from './channel/channel-registry';
import { RuntimeChannels } from './runtime-channels';
import { WakeUps } from './wake-up/wake-ups';
import { DeliveryWorkers } from './worker/delivery-workers';

/** What `DeliveriesModule.forRootAsync` takes: a factory for the options, and what it injects. */
export interface DeliveriesAsyncOptions extends Pick<ModuleMetadata, 'imports'>, Pick<FactoryProvider, 'inject'> {
  /** Tells this module from others of the same application; see `DeliveriesOptions`. Default: none, for the only one. */
  readonly name?: string;
  /** Injection token of the `DataSource`: it must be known before the factory runs. Default: the class `DataSource`. */
  readonly dataSource?: InjectionToken;
  /** The operators' routes, which Nest must know before the factory runs. Default: none. */
  readonly admin?: AdminOptions;
  readonly useFactory: (...injected: never[]) => LateOptions | Promise<LateOptions>;
}

/** What a factory may give. */
type LateOptions = Omit<DeliveriesOptions, 'name' | 'dataSource' | 'admin'>;

const optionsToken = Symbol('nest-deliveries options');
const dataSourceToken = Symbol('nest-deliveries data source');
const schedulerToken = Symbol('nest-deliveries scheduler registry');

/**
 * Durable outbound deliveries. Import it once, in the root module, beside `TypeOrmModule` and `ScheduleModule.forRoot()`:
 * `DeliveryRecorder` can then be injected everywhere, and channels are found wherever they are registered. A second one, for another
 * database, has a `name`.
 */
@Module({})
export class DeliveriesModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(optionsToken) private readonly options: ResolvedOptions,
    @Inject(dataSourceToken) private readonly dataSource: DataSource,
    private readonly channels: ChannelRegistry,
    private readonly commits: CommitWatch,
  ) {}

  /** @throws DeliveriesOptionsError at start, for an option that is unknown or out of range */
  static forRoot(options: DeliveriesOptions = {}): DynamicModule {
    const provided = { provide: optionsToken, useFactory: () => resolveOptions(options) };
    return build(options ?? {}, [], provided);
  }

  /** @throws DeliveriesOptionsError at start, for an option that is unknown or out of range */
  static forRootAsync({ imports, inject, useFactory, ...early }: DeliveriesAsyncOptions): DynamicModule {
    return build(early, imports, {
      provide: optionsToken,
      inject: inject ?? [],
      useFactory: async (...injected: never[]) =>
        resolveOptions(withoutEarly(await useFactory(...injected)), early.name),
    });
  }

  onApplicationShutdown(): void {
    this.commits.stop();
  }

  /** @throws ChannelDefinitionError, DeliveriesOptionsError, SchemaBehindError */
  async onModuleInit(): Promise<void> {
    guardHostConnections(this.dataSource);
    this.channels.discover();
    this.commits.start();
    // A command asks for the database when it needs it, and says what is wrong with it.
    if (this.options.passive) return;
    if (this.options.migrate) await migrateSchema(this.dataSource, this.options.schema);
    await requireCurrentSchema(this.dataSource, this.options.schema);
  }
}

/** What can be injected everywhere. */
const exported = [
  DeliveryRecorder,
  DeliveryWorkers,
  RuntimeChannels,
  DeliveryCleaner,
  DeliveryOperations,
  ChannelPauses,
  WakeUps,
  AttemptTally,
  QueueCounter,
  DeliveriesMetrics,
  DeliveriesHealthIndicator,
];

function build(
  { name, dataSource, admin: adminOptions }: Pick<DeliveriesOptions, 'name' | 'dataSource' | 'admin'>,
  imports: ModuleMetadata['imports'],
  options: Provider,
): DynamicModule {
  checkModuleName(name);
  const admin = adminParts(adminOptions, name === undefined ? 'admin/deliveries' : `admin/deliveries-${name}`);
  const named = exported.map((each) => ({ provide: deliveriesToken(each, name), useExisting: each }));
  return {
    module: DeliveriesModule,
    global: true,
    imports: [DiscoveryModule, ...(imports ?? []), ...(admin.imports ?? [])],
    controllers: admin.controllers ?? [],
    providers: [
      ...(admin.providers ?? []),
      ...(adminOptions && adminOptions.dashboard !== false ? dashboardProviders(optionsToken) : []),
      options,
      { provide: moduleNameToken, useValue: name },
      ...named,
      {
        provide: dataSourceToken,
        inject: [{ token: dataSource ?? DataSource, optional: true }],
        useFactory: (found: DataSource | undefined) => requireDataSource(found, dataSource ?? DataSource),
      },
      {
        provide: schedulerToken,
        inject: [{ token: SchedulerRegistry, optional: true }],
        useFactory: requireScheduler,
      },
      {
        provide: DeliveryRecorder,
        inject: [dataSourceToken, ChannelRegistry, CommitWatch, optionsToken],
        useFactory: (
          source: DataSource,
          channels: ChannelRegistry,
          commits: CommitWatch,
          { schema }: ResolvedOptions,
        ) =>
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
        useFactory: (source: DataSource, wakeUps: WakeUps) =>
          new CommitWatch(source, (work) => wakeUps.committed(work)),
      },
      {
        provide: ChannelRegistry,
        inject: [DiscoveryService, optionsToken],
        useFactory: (discovery: DiscoveryService, resolved: ResolvedOptions) =>
          new ChannelRegistry(discovery, resolved),
      },
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
        inject: [
          dataSourceToken,
          WorkerDatabase,
          ChannelRegistry,
          schedulerToken,
          AttemptObserver,
          WakeUps,
          optionsToken,
        ],
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
      {
        provide: DeliveryOperations,
        inject: [dataSourceToken, ChannelRegistry, WakeUps, optionsToken],
        useFactory: (source: DataSource, channels: ChannelRegistry, wakeUps: WakeUps, { schema }: ResolvedOptions) =>
          new DeliveryOperations(source, channels, `"${schema}"`, (channel) => wakeUps.changed(channel)),
      },
      ...observeProviders({ options: optionsToken, dataSource: dataSourceToken, scheduler: schedulerToken }),
    ],
    // By class from the nameless one alone: of two, Nest would take either.
    exports: [...named.map(({ provide }) => provide), ...(name === undefined ? exported : [])],
  };
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

/** What the factory gave; TypeScript lets an object with more properties pass. */
function withoutEarly(options: DeliveriesOptions): DeliveriesOptions {
  const early = (['name', 'dataSource', 'admin'] as const).find((name) => options?.[name] !== undefined);
  if (early === undefined) return options;
  throw new DeliveriesOptionsError(
    `DeliveriesModule: ${early} must be known before the factory of forRootAsync runs; got it from the factory. Put it beside useFactory.`,
  );
}

function requireScheduler(scheduler: SchedulerRegistry | undefined): SchedulerRegistry {
  if (scheduler) return scheduler;
  throw new DeliveriesOptionsError(
    'DeliveriesModule needs the SchedulerRegistry of @nestjs/schedule, and it is not there. Import ScheduleModule.forRoot() in the root module.',
  );
}
