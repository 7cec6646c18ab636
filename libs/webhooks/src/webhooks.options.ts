import type { MessagesOf } from './endpoint/endpoint.channel';
import { WebhookConfigurationError } from './errors';
import { requireKnown, requireMade } from './known-options';
import { WebhookConfig } from './outbox/webhook-config';
import { webhookHttpOptionNames, type OutboxWorkers, type WebhookHttpOptions } from './outbox/webhook-outboxes';
import type { WebhookVerifierOptions } from './receive/webhook-verifier';
import { WebhookKeyring } from './seal/keyring';
import { WebhookSigningKey } from './sign/signing-key';

/** A namespace that is opened when the application starts. */
export interface OutboxOptions extends OutboxWorkers {
  readonly config: WebhookConfig;
  readonly signingKey: WebhookSigningKey;
}

/** What `WebhooksModule.forRoot` takes. */
export interface WebhooksOptions {
  /** Name of the `DeliveriesModule` whose queue it uses. Default: the one without a name. */
  readonly deliveries?: string;
  /** The storage keys. Without one nothing can be stored: for an application that only receives. Default none. */
  readonly keyring?: WebhookKeyring;
  /** Namespaces that this application works on. Default none; `WebhookOutboxes` opens more while it runs. */
  readonly outboxes?: readonly OutboxOptions[];
  /** Tenants' endpoints, for which the channel `webhooks` is added. Default: no endpoints. */
  readonly endpoints?: EndpointOptions;
  /** Whose webhooks are received, by the names that `@VerifyWebhook` uses. Default none. */
  readonly receive?: Readonly<Record<string, WebhookVerifierOptions>>;
  /** How requests are made. Default: the system's name servers, nothing internal. */
  readonly http?: WebhookHttpOptions;
}

export interface EndpointOptions {
  /** Which messages an event that is recorded causes. Default none: `WebhookEndpoints.publish` records them. */
  readonly messages?: MessagesOf;
}

/** Every option of the module with its default, as the options table in the docs has it. */
export const webhooksOptionDefaults = {
  deliveries: 'the one without a name',
  keyring: 'none: for an application that only receives',
  outboxes: 'none',
  endpoints: 'no endpoints',
  receive: 'none',
  http: "the system's name servers, nothing internal",
} as const satisfies Record<keyof WebhooksOptions, string>;

const subject = 'WebhooksModule';

/** @throws WebhookConfigurationError with one sentence: option, rule, what to do */
export function checkedOptions(options: WebhooksOptions): WebhooksOptions {
  requireKnown(subject, options, Object.keys(webhooksOptionDefaults));
  const { keyring, outboxes = [], endpoints, receive = {}, http = {} } = options;
  if (keyring !== undefined) requireMade(subject, 'keyring', keyring, WebhookKeyring);
  requireKnownOfEach(outboxes);
  if (outboxes.length > 0) requireKeyring(keyring, 'outboxes');
  for (const { config, signingKey } of outboxes) {
    requireMade(`${subject}: outboxes`, 'config', config, WebhookConfig);
    requireMade(`${subject}: outboxes`, 'signingKey', signingKey, WebhookSigningKey);
  }
  if (endpoints !== undefined) checkEndpoints(endpoints);
  requireAny(`${subject}: receive`, receive);
  for (const [source, keys] of Object.entries(receive)) requireAny(`${subject}: receive: ${source}`, keys);
  requireKnown(`${subject}: http`, http, webhookHttpOptionNames);
  return options;
}

/** @throws WebhookConfigurationError */
export function checkDeliveries(name: unknown): void {
  if (name === undefined || (typeof name === 'string' && name !== '')) return;
  throw new WebhookConfigurationError(
    `${subject}: deliveries must be the name of a DeliveriesModule. Leave it out for the one without a name.`,
  );
}

/** What must be known before a factory runs: which other parts there are, and what they inject. */
export type EarlyOptions = Pick<WebhooksOptions, 'deliveries' | 'endpoints'>;

/**
 * What a factory gave, with what stands beside it.
 * @throws WebhookConfigurationError
 */
export function withEarly(options: WebhooksOptions, early: EarlyOptions): WebhooksOptions {
  requireKnown(subject, options, Object.keys(webhooksOptionDefaults));
  const late = (['deliveries', 'endpoints'] as const).find((name) => name in options);
  if (late === undefined) return { ...options, ...early };
  throw new WebhookConfigurationError(
    `${subject}: ${late} must be known before the factory of forRootAsync runs. Put it beside useFactory.`,
  );
}

/** An object of whatever names. */
const requireAny = (place: string, given: object): void =>
  requireKnown(place, given, Object.keys(Object(given) as object));

function requireKnownOfEach(outboxes: unknown): void {
  if (!Array.isArray(outboxes)) {
    throw new WebhookConfigurationError(
      `${subject}: outboxes must be a list. Write outboxes: [{ config, signingKey }].`,
    );
  }
  for (const outbox of outboxes) {
    requireKnown(`${subject}: outboxes`, outbox, ['config', 'signingKey', 'workers', 'concurrency']);
  }
}

function checkEndpoints(endpoints: EndpointOptions): void {
  requireKnown(`${subject}: endpoints`, endpoints, ['messages']);
  if (endpoints.messages === undefined || typeof endpoints.messages === 'function') return;
  throw new WebhookConfigurationError(
    `${subject}: endpoints: messages must be a function of an event. Write messages: (event, tx) => […], or leave it out.`,
  );
}

/** @throws WebhookConfigurationError */
export function requireKeyring(keyring: WebhookKeyring | undefined, option: string): WebhookKeyring {
  if (keyring) return keyring;
  throw new WebhookConfigurationError(
    `WebhooksModule: ${option} are stored sealed, and there is no keyring. Give keyring: new WebhookKeyring(…).`,
  );
}
