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
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService } from '@nestjs/core';
import { DeliveryOperations, DeliveryRecorder, RuntimeChannels } from 'nest-deliveries';
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
  checkedOptions,
  requireKeyring,
  withEndpoints,
  type EndpointOptions,
  type WebhooksOptions,
} from './webhooks.options';

export interface WebhooksAsyncOptions extends Pick<ModuleMetadata, 'imports'>, Pick<FactoryProvider, 'inject'> {
  /** As in {@link WebhooksOptions}: it adds a channel, which Nest must know before the factory runs. */
  readonly endpoints?: EndpointOptions;
  readonly useFactory: (
    ...injected: never[]
  ) => Omit<WebhooksOptions, 'endpoints'> | Promise<Omit<WebhooksOptions, 'endpoints'>>;
}

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
    return build([], options?.endpoints, { provide: optionsToken, useFactory: () => checkedOptions(options) });
  }

  /** @throws WebhookConfigurationError at start */
  static forRootAsync({ imports, inject, endpoints, useFactory }: WebhooksAsyncOptions): DynamicModule {
    return build(imports, endpoints, {
      provide: optionsToken,
      inject: inject ?? [],
      useFactory: async (...injected: never[]) =>
        checkedOptions(withEndpoints(await useFactory(...injected), endpoints)),
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
  endpoints: EndpointOptions | undefined,
  options: Provider,
): DynamicModule {
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
        inject: [RuntimeChannels, DeliveryOperations, optionsToken],
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
        inject: [RuntimeChannels],
        useFactory: (channels: RuntimeChannels) => new WebhookReceipts(channels),
      },
      ...(endpoints ? endpointProviders(endpoints) : []),
    ],
    exports: endpoints ? [...provided, WebhookEndpoints] : provided,
  };
}

const endpointProviders = ({ messages }: EndpointOptions): Provider[] => [
  {
    provide: EndpointChannel,
    inject: [RuntimeChannels, DeliveryRecorder, httpToken, optionsToken],
    useFactory: (
      channels: RuntimeChannels,
      recorder: DeliveryRecorder,
      http: OutboundHttp,
      { keyring }: WebhooksOptions,
    ) =>
      new EndpointChannel(
        channels,
        requireKeyring(keyring, 'endpoints'),
        http,
        new EndpointHealth(channels, recorder),
        messages,
      ),
  },
  {
    provide: WebhookEndpoints,
    inject: [RuntimeChannels, DeliveryRecorder, DeliveryOperations, EndpointChannel, httpToken, optionsToken],
    useFactory: (
      channels: RuntimeChannels,
      recorder: DeliveryRecorder,
      operations: DeliveryOperations,
      channel: EndpointChannel,
      http: OutboundHttp,
      { keyring }: WebhooksOptions,
    ) => new WebhookEndpoints(channels, recorder, operations, channel, requireKeyring(keyring, 'endpoints'), http),
  },
];
