import {
  Inject,
  Module,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
  type Type,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { channelIn, deliveriesToken, DeliveryOperations, DeliveryRecorder, RuntimeChannels } from 'nest-deliveries';
import { OutboundHttp } from 'nest-deliveries/outbound-http';
import { EndpointChannel } from './endpoint/endpoint.channel';
import { EndpointHealth } from './endpoint/endpoint-health';
import { WebhookEndpoints } from './endpoint/webhook-endpoints';
import { WebhookOutboxes } from './outbox/webhook-outboxes';
import { routeSources } from './receive/route-sources';
import { WebhookGuard } from './receive/verify-webhook';
import { WebhookReceipts } from './receive/webhook-receipts';
import { WebhookReceivers } from './receive/webhook-receivers';
import {
  checkDeliveries,
  checkedOptions,
  requireKeyring,
  withEarly,
  type EarlyOptions,
  type EndpointOptions,
  type WebhooksOptions,
} from './webhooks.options';

/** A factory for the options, what it injects, and what must be known before it runs. */
export interface WebhooksAsyncOptions
  extends Pick<ModuleMetadata, 'imports'>, Pick<FactoryProvider, 'inject'>, EarlyOptions {
  readonly useFactory: (...injected: never[]) => LateOptions | Promise<LateOptions>;
}

/** What a factory may give. */
type LateOptions = Omit<WebhooksOptions, keyof EarlyOptions>;

const optionsToken = Symbol('nest-deliveries webhooks options');
const httpToken = Symbol('nest-deliveries webhooks http');

/** Signed webhooks: outboxes with one destination each, tenants' endpoints, and receiving. Needs `DeliveriesModule`. */
@Module({})
export class WebhooksModule implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    @Inject(optionsToken) private readonly options: WebhooksOptions,
    @Inject(httpToken) private readonly http: OutboundHttp,
    private readonly outboxes: WebhookOutboxes,
    private readonly receivers: WebhookReceivers,
    private readonly discovery: DiscoveryService,
  ) {}

  /** @throws WebhookConfigurationError at start */
  static forRoot(options: WebhooksOptions = {}): DynamicModule {
    return build([], options ?? {}, { provide: optionsToken, useFactory: () => checkedOptions(options) });
  }

  /** @throws WebhookConfigurationError at start */
  static forRootAsync({ imports, inject, useFactory, ...early }: WebhooksAsyncOptions): DynamicModule {
    return build(imports, early, {
      provide: optionsToken,
      inject: inject ?? [],
      useFactory: async (...injected: never[]) => checkedOptions(withEarly(await useFactory(...injected), early)),
    });
  }

  /** A sender that nobody knows is found when the application starts, and not by its first message. @throws WebhookConfigurationError */
  onModuleInit(): void {
    for (const source of routeSources(this.discovery)) this.receivers.get(source);
  }

  /** After the hook in which the tables are brought up to date. @throws WebhookConfigurationError */
  async onApplicationBootstrap(): Promise<void> {
    for (const { config, signingKey, ...workers } of this.options.outboxes ?? []) {
      await this.outboxes.open(config, signingKey, workers);
    }
  }

  onApplicationShutdown(): void {
    this.http.close();
  }
}

function build(
  imports: ModuleMetadata['imports'],
  { deliveries, endpoints }: EarlyOptions,
  options: Provider,
): DynamicModule {
  checkDeliveries(deliveries);
  const ofDeliveries = (each: Type): string => deliveriesToken(each, deliveries);
  const provided = [WebhookOutboxes, WebhookReceivers, WebhookReceipts, WebhookGuard];
  return {
    module: WebhooksModule,
    global: true,
    imports: [DiscoveryModule, ...(imports ?? [])],
    providers: [
      options,
      WebhookGuard,
      {
        provide: httpToken,
        inject: [optionsToken],
        useFactory: ({ http }: WebhooksOptions) => new OutboundHttp({ ...http, profile: 'strict', timeout: '10s' }),
      },
      {
        provide: WebhookOutboxes,
        inject: [ofDeliveries(RuntimeChannels), ofDeliveries(DeliveryOperations), optionsToken],
        useFactory: (channels: RuntimeChannels, operations: DeliveryOperations, { keyring, http }: WebhooksOptions) =>
          new WebhookOutboxes(channels, operations, keyring, http),
      },
      {
        provide: WebhookReceivers,
        inject: [optionsToken],
        useFactory: ({ receive }: WebhooksOptions) => new WebhookReceivers(receive),
      },
      {
        provide: WebhookReceipts,
        inject: [ofDeliveries(RuntimeChannels)],
        useFactory: (channels: RuntimeChannels) => new WebhookReceipts(channels),
      },
      ...(endpoints ? endpointProviders(endpoints, deliveries) : []),
    ],
    exports: endpoints ? [...provided, WebhookEndpoints] : provided,
  };
}

function endpointProviders({ messages }: EndpointOptions, deliveries: string | undefined): Provider[] {
  const channelClass = channelIn(EndpointChannel, deliveries);
  const [channels, recorder, operations] = [RuntimeChannels, DeliveryRecorder, DeliveryOperations].map((each) =>
    deliveriesToken(each, deliveries),
  ) as [string, string, string];
  return [
    {
      provide: channelClass,
      inject: [channels, recorder, httpToken, optionsToken],
      useFactory: (
        runtime: RuntimeChannels,
        records: DeliveryRecorder,
        http: OutboundHttp,
        { keyring }: WebhooksOptions,
      ) =>
        new channelClass(
          runtime,
          requireKeyring(keyring, 'endpoints'),
          http,
          new EndpointHealth(runtime, records),
          messages,
        ),
    },
    {
      provide: WebhookEndpoints,
      inject: [channels, recorder, operations, channelClass, httpToken, optionsToken],
      useFactory: (
        runtime: RuntimeChannels,
        records: DeliveryRecorder,
        operates: DeliveryOperations,
        channel: EndpointChannel,
        http: OutboundHttp,
        { keyring }: WebhooksOptions,
      ) => new WebhookEndpoints(runtime, records, operates, channel, requireKeyring(keyring, 'endpoints'), http),
    },
  ];
}
