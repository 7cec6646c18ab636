import {
  Inject,
  Logger,
  Module,
  Optional,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type OnApplicationShutdown,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { ChannelPauses, deliveriesToken } from 'nest-deliveries';
import { EmailSender } from './channel/email-sender';
import { Composer } from './compose/composer';
import { loadTemplates } from './compose/load-templates';
import {
  checkDeliveries,
  resolveEmailOptions,
  resolveLateOptions,
  type EmailOptions,
  type ResolvedEmailOptions,
} from './email.options';
import { EmailOptionsError } from './errors';
import { EmailHealthIndicator } from './health/email-health';
import { LoginWatch } from './relay/login-watch';
import { Relay } from './relay/relay';

/** What `EmailModule.forRootAsync` takes: a factory for the options, and what it injects. */
export interface EmailAsyncOptions extends Pick<ModuleMetadata, 'imports'>, Pick<FactoryProvider, 'inject'> {
  /** As in {@link EmailOptions}: what is injected of that module must be known before the factory runs. */
  readonly deliveries?: string;
  readonly useFactory: (...injected: never[]) => LateOptions | Promise<LateOptions>;
}

/** What a factory may give. */
type LateOptions = Omit<EmailOptions, 'deliveries'>;

const optionsToken = Symbol('nest-deliveries email options');

/**
 * Emails through an SMTP relay. Import it once, in the root module, beside `DeliveriesModule`: `EmailSender`, which every channel
 * that extends `EmailChannel` injects, and `EmailHealthIndicator` can then be injected everywhere.
 */
@Module({})
export class EmailModule implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(optionsToken) private readonly options: ResolvedEmailOptions,
    @Optional() @Inject(Relay) private readonly relay: Relay | undefined,
  ) {}

  /** @throws EmailOptionsError, EmailTemplateError at start */
  static forRoot(options: EmailOptions): DynamicModule {
    return build([], options?.deliveries, { provide: optionsToken, useFactory: () => resolveEmailOptions(options) });
  }

  /** @throws EmailOptionsError, EmailTemplateError at start */
  static forRootAsync({ imports, inject, deliveries, useFactory }: EmailAsyncOptions): DynamicModule {
    return build(imports, deliveries, {
      provide: optionsToken,
      inject: inject ?? [],
      useFactory: async (...injected: never[]) => resolveLateOptions(await useFactory(...injected)),
    });
  }

  onModuleInit(): void {
    if (this.relay) return;
    new Logger('Email').warn(
      `There is no relay: every delivery of ${this.options.channels.join(', ')} is skipped. Set the option url to send them.`,
    );
  }

  /** After the hook in which workers let their sends end. */
  onApplicationShutdown(): void {
    this.relay?.close();
  }
}

function build(imports: ModuleMetadata['imports'], deliveries: string | undefined, options: Provider): DynamicModule {
  checkDeliveries(deliveries);
  return {
    module: EmailModule,
    global: true,
    imports: imports ?? [],
    providers: [
      options,
      {
        provide: Relay,
        inject: [optionsToken],
        useFactory: ({ relay, ...settings }: ResolvedEmailOptions) => relay && new Relay({ relay, ...settings }),
      },
      {
        provide: Composer,
        inject: [optionsToken],
        useFactory: ({ kinds, templates, from }: ResolvedEmailOptions) =>
          new Composer(loadTemplates(templates, kinds, from.name), from),
      },
      {
        provide: LoginWatch,
        inject: [
          { token: Relay, optional: true },
          { token: deliveriesToken(ChannelPauses, deliveries), optional: true },
          optionsToken,
        ],
        useFactory: (
          relay: Relay | undefined,
          pauses: ChannelPauses | undefined,
          { channels, probeInterval, timeout }: ResolvedEmailOptions,
        ) => relay && new LoginWatch(relay, requirePauses(pauses, deliveries), channels, probeInterval, timeout),
      },
      {
        provide: EmailSender,
        inject: [Composer, { token: Relay, optional: true }, { token: LoginWatch, optional: true }],
        useFactory: (...injected: ConstructorParameters<typeof EmailSender>) => new EmailSender(...injected),
      },
      {
        provide: EmailHealthIndicator,
        inject: [{ token: Relay, optional: true }],
        useFactory: (relay: Relay | undefined) => new EmailHealthIndicator(relay),
      },
    ],
    exports: [EmailSender, EmailHealthIndicator],
  };
}

function requirePauses(pauses: ChannelPauses | undefined, deliveries: string | undefined): ChannelPauses {
  if (pauses) return pauses;
  const [which, options] =
    deliveries === undefined
      ? ['DeliveriesModule', '']
      : [`the DeliveriesModule named ${JSON.stringify(deliveries)}`, `{ name: ${JSON.stringify(deliveries)} }`];
  throw new EmailOptionsError(
    `EmailModule works with ${which}, and it is not there. Import DeliveriesModule.forRoot(${options}) in the root module.`,
  );
}
