import {
  Inject,
  Module,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type OnModuleInit,
} from '@nestjs/common';
import { channelIn } from 'nest-deliveries';
import { OutboundHttp } from 'nest-deliveries/outbound-http';
import { BackchannelLogoutChannel } from './backchannel-logout.channel';
import { BackchannelLogoutOptionsError } from './errors';
import {
  checkDeliveries,
  readOptions,
  requireObject,
  type BackchannelLogoutOptions,
} from './options/backchannel-logout-options';
import { requireSigningKey } from './token/signing-key';

interface Place extends Pick<ModuleMetadata, 'imports'> {
  /** Name of the `DeliveriesModule` whose channel it is. Default: the one without a name. */
  readonly deliveries?: string;
}

/** The options, where the channel belongs, and the modules that export `OutboundHttp` where `OutboundHttpModule` is not global. */
export interface BackchannelLogoutModuleOptions extends BackchannelLogoutOptions, Place {}

/** A factory for the options, and what it injects. */
export interface BackchannelLogoutAsyncOptions extends Place, Pick<FactoryProvider, 'inject'> {
  readonly useFactory: (...injected: never[]) => BackchannelLogoutOptions | Promise<BackchannelLogoutOptions>;
}

const optionsToken = Symbol('nest-deliveries back-channel logout options');

/**
 * Adds the channel `backchannel_logout`. Import it once, beside `DeliveriesModule` and an `OutboundHttpModule`; record a
 * `sessionRevoked` in each transaction that ends a session before its time.
 */
@Module({})
export class BackchannelLogoutModule implements OnModuleInit {
  constructor(@Inject(optionsToken) private readonly options: BackchannelLogoutOptions) {}

  /** @throws BackchannelLogoutOptionsError, SigningKeyError at start */
  static forRoot(given: BackchannelLogoutModuleOptions): DynamicModule {
    const { imports, deliveries, ...options } = requireObject(given);
    return build({ imports, deliveries }, { provide: optionsToken, useFactory: () => readOptions(options) });
  }

  /** @throws BackchannelLogoutOptionsError, SigningKeyError at start */
  static forRootAsync({ inject, useFactory, ...place }: BackchannelLogoutAsyncOptions): DynamicModule {
    return build(place, {
      provide: optionsToken,
      inject: inject ?? [],
      useFactory: async (...injected: never[]) => readOptions(await useFactory(...injected)),
    });
  }

  /** Better now than at the first session that ends. */
  async onModuleInit(): Promise<void> {
    requireSigningKey(await this.options.signingKey());
  }
}

function build({ imports, deliveries }: Place, options: FactoryProvider): DynamicModule {
  const channelClass = channelIn(BackchannelLogoutChannel, checkDeliveries(deliveries));
  return {
    module: BackchannelLogoutModule,
    imports: imports ?? [],
    providers: [
      options,
      {
        provide: channelClass,
        inject: [{ token: OutboundHttp, optional: true }, optionsToken],
        useFactory: (http: OutboundHttp | undefined, given: BackchannelLogoutOptions) =>
          new channelClass(requireHttp(http), given),
      },
    ],
    exports: [channelClass],
  };
}

function requireHttp(http: OutboundHttp | undefined): OutboundHttp {
  if (http) return http;
  throw new BackchannelLogoutOptionsError(
    'BackchannelLogoutModule needs OutboundHttp, and it is not there. Import OutboundHttpModule.forRoot({ isGlobal: true }) in the ' +
      'root module, or give this module one in its imports.',
  );
}
