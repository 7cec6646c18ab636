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
import { DiscoveryModule } from '@nestjs/core';
import { DataSource } from 'typeorm';
import type * as AdminProviders from './admin.providers';
import { ChannelRegistry } from './channel/channel-registry';
import { DeliveryCleaner } from './clean-up/delivery-cleaner';
import { guardHostConnections } from './database/guard-connections';
import { migrateSchema, requireCurrentSchema } from './database/schema';
import type { DeliveriesOptions } from './deliveries.options';
import { DeliveriesOptionsError } from './errors';
import { hostProviders } from './host.providers';
import { checkModuleName, deliveriesToken, moduleNameToken } from './module-name';
import { dataSourceToken, optionsToken } from './module-tokens';
import { AttemptTally } from './observe/attempt-tally';
import { DeliveriesHealthIndicator } from './observe/health/deliveries-health';
import { DeliveriesMetrics } from './observe/metrics/deliveries-metrics';
import { QueueCounter } from './observe/queue-counter';
import { observeProviders } from './observe.providers';
import type { AdminOptions } from './operate/admin/admin-options';
import { DeliveryOperations } from './operate/delivery-operations';
import { operateProviders } from './operate.providers';
import { ChannelPauses } from './pause/channel-pauses';
import { CommitWatch } from './record/commit-watch';
import { DeliveryRecorder } from './record/delivery-recorder';
import { recordProviders } from './record.providers';
import { resolveOptions, type ResolvedOptions } from './resolved-options';
import { RuntimeChannels } from './runtime-channels';
import { WakeUps } from './wake-up/wake-ups';
import { DeliveryWorkers } from './worker/delivery-workers';
import { workerProviders } from './worker.providers';

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
  const admin = adminOf(adminOptions, name);
  const named = exported.map((each) => ({ provide: deliveriesToken(each, name), useExisting: each }));
  return {
    module: DeliveriesModule,
    global: true,
    imports: [DiscoveryModule, ...(imports ?? []), ...(admin.imports ?? [])],
    controllers: admin.controllers ?? [],
    providers: [
      ...(admin.providers ?? []),
      options,
      { provide: moduleNameToken, useValue: name },
      ...named,
      ...hostProviders(dataSource),
      ...recordProviders,
      ...workerProviders,
      ...operateProviders,
      ...observeProviders,
    ],
    // By class from the nameless one alone: of two, Nest would take either.
    exports: [...named.map(({ provide }) => provide), ...(name === undefined ? exported : [])],
  };
}

/**
 * What the operators' routes add; nothing without them. They are loaded here and not imported: their templates and OpenAPI's decorators
 * are a fifth of what this library loads, and many of an application's processes have no routes.
 */
function adminOf(
  options: AdminOptions | undefined,
  name: string | undefined,
): Pick<ModuleMetadata, 'imports' | 'controllers' | 'providers'> {
  if (options === undefined) return {};
  const { adminParts, dashboardProviders } = require('./admin.providers') as typeof AdminProviders;
  const parts = adminParts(options, name);
  return { ...parts, providers: [...parts.providers, ...(options.dashboard === false ? [] : dashboardProviders)] };
}

/** What the factory gave; TypeScript lets an object with more properties pass. */
function withoutEarly(options: DeliveriesOptions): DeliveriesOptions {
  const early = (['name', 'dataSource', 'admin'] as const).find((name) => options?.[name] !== undefined);
  if (early === undefined) return options;
  throw new DeliveriesOptionsError(
    `DeliveriesModule: ${early} must be known before the factory of forRootAsync runs; got it from the factory. Put it beside useFactory.`,
  );
}
