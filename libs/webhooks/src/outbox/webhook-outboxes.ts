import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { DeliveryOperations, RuntimeChannels } from 'nest-deliveries';
import { OutboundHttp, type OutboundHttpOptions } from 'nest-deliveries/outbound-http';
import { WebhookConfigurationError } from '../errors';
import { requireMade } from '../known-options';
import type { WebhookKeyring } from '../seal/keyring';
import { WebhookSigningKey } from '../sign/signing-key';
import { requireSame, sealControl } from './control-record';
import { NamespaceChannel } from './namespace-channel';
import { NamespaceStore } from './namespace-store';
import { attemptsInWindow, backoffOver } from './window';
import { WebhookConfig } from './webhook-config';
import { WebhookOutbox } from './webhook-outbox';

/** How an outbox works in this process; says nothing about what the namespace is. */
export interface OutboxWorkers {
  /** Workers of the namespace in this process. Default: the module's `workers`; 0 for an outbox that is dispatched by hand. */
  readonly workers?: number;
  /** Events that each of them has in flight at most. Default: the module's `concurrency`. */
  readonly concurrency?: number;
}

/** What a host may decide about the requests; the profile is always `strict`. */
export type WebhookHttpOptions = Omit<OutboundHttpOptions, 'profile' | 'timeout' | 'connectTimeout'>;

export const webhookHttpOptionNames = [
  'deny',
  'allow',
  'testMode',
  'production',
  'requireProduction',
  'resolver',
  'keepAlive',
] as const satisfies (keyof WebhookHttpOptions)[];

/** Opens outboxes: one for each namespace that this process is to work on. */
export class WebhookOutboxes implements OnApplicationShutdown {
  private readonly logger = new Logger('Webhooks');
  private readonly byNamespace = new Map<string, WebhookOutbox>();
  /** Namespaces that are being opened, or are open. */
  private readonly taken = new Set<string>();

  constructor(
    private readonly channels: RuntimeChannels,
    private readonly operations: DeliveryOperations,
    /** Undefined: each call of {@link open} has to bring its own. */
    private readonly keyring: WebhookKeyring | undefined,
    private readonly http: WebhookHttpOptions = {},
  ) {}

  /**
   * Creates or opens a namespace, and starts its workers in this process.
   *
   * @param keyring default: that of the module
   * @throws WebhookConfigurationError when it was opened first with something else, when its control record does not open, or for
   *   what does not fit together; nothing is sent then
   */
  async open(
    config: WebhookConfig,
    key: WebhookSigningKey,
    { keyring = this.keyring, ...workers }: OutboxWorkers & { readonly keyring?: WebhookKeyring } = {},
  ): Promise<WebhookOutbox> {
    requireMade('WebhookOutboxes', 'config', config, WebhookConfig);
    const { namespace } = config;
    requireMade(`Namespace "${namespace}"`, 'signingKey', key, WebhookSigningKey);
    if (!keyring) {
      throw new WebhookConfigurationError(
        `Namespace "${namespace}": events are stored sealed, and there is no keyring. Give WebhooksModule one.`,
      );
    }
    requireFitting(config, key, keyring);
    if (this.taken.has(namespace)) {
      throw new WebhookConfigurationError(
        `Namespace "${namespace}" is open in this process already. Use get("${namespace}"), or close it first.`,
      );
    }
    this.taken.add(namespace);
    try {
      const outbox = await this.openNew(config, key, keyring, workers);
      this.byNamespace.set(namespace, outbox);
      return outbox;
    } catch (error) {
      this.taken.delete(namespace);
      throw error;
    }
  }

  /** An outbox that is open in this process. @throws WebhookConfigurationError */
  get(namespace: string): WebhookOutbox {
    const outbox = this.byNamespace.get(namespace);
    if (outbox) return outbox;
    throw new WebhookConfigurationError(
      `Namespace "${namespace}" is not open in this process. Name it among the module's outboxes, or open it.`,
    );
  }

  /** After the hook in which all workers stop. */
  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.byNamespace.values()].map((outbox) => outbox.close()));
  }

  private async openNew(
    config: WebhookConfig,
    key: WebhookSigningKey,
    keyring: WebhookKeyring,
    workers: OutboxWorkers,
  ): Promise<WebhookOutbox> {
    const { namespace, channel: name, window } = config;
    const store = new NamespaceStore(this.channels, namespace, name);
    await store.open(sealControl(keyring, config, key), (control) => {
      requireSame(keyring, config, key, control);
      return keyring.isCurrent(control) ? undefined : sealControl(keyring, config, key);
    });
    const http = this.clientFor(config);
    const keys = { rullst: config.schemes.includes('rullst-v1') ? key : undefined, standard: config.standardKeys };
    const handler = new NamespaceChannel(config, keyring, keys, key.offline, http);
    const channel = this.channels.open(
      {
        name,
        maxAge: window,
        sendTimeout: '10s',
        lease: '30s',
        maxAttempts: attemptsInWindow,
        retry: backoffOver(window),
        retention: 'manual',
        revivesCancelled: false,
        lane: { share: 1 },
        ...workers,
      },
      handler,
    );
    const onClose = (): void => {
      this.byNamespace.delete(namespace);
      void channel.close().finally(() => this.taken.delete(namespace));
    };
    return new WebhookOutbox({
      config,
      key,
      keyring,
      store,
      channel,
      handler,
      http,
      operations: this.operations,
      onClose,
    });
  }

  private clientFor({ destination, production }: WebhookConfig): OutboundHttp {
    const ca = destination.ca();
    // Where the host requires production of all requests, a test destination is refused in those words.
    const strict = production || this.http.requireProduction === true;
    const testMode = destination.mode === 'loopback-test' && (ca === undefined ? true : { ca });
    return new OutboundHttp(
      { ...this.http, profile: 'strict', production: strict, testMode },
      ({ reason, address }) => {
        this.logger.warn(`Refused to connect to ${address}: ${reason}.`);
      },
    );
  }
}

/** @throws WebhookConfigurationError */
function requireFitting(config: WebhookConfig, key: WebhookSigningKey, keyring: WebhookKeyring): void {
  const subject = `Namespace "${config.namespace}"`;
  const secrets = [key, ...config.standardKeys];
  if (secrets.some((secret) => keyring.holds(secret.fingerprint()))) {
    throw new WebhookConfigurationError(
      `${subject}: a signing key and a storage key are the same bytes. Make 32 random bytes for each.`,
    );
  }
  if (key.offline && config.production) {
    throw new WebhookConfigurationError(
      `${subject}: an offline signing key (empty, or mock_…) is refused in production. Set the real one.`,
    );
  }
}
