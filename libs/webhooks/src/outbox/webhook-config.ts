import type { Duration } from 'nest-deliveries';
import { WebhookConfigurationError } from '../errors';
import { requireKnown, requireList, shownNumber } from '../known-options';
import { checkSchemes, type WebhookScheme } from '../send/signing';
import { checkNamespace } from '../sign/names';
import { Redacted } from '../sign/redacted';
import { isSigner, type StandardSigner } from '../sign/standard-keys';
import { WebhookDestination } from './destination';
import { windowMs } from './window';

export interface WebhookConfigOptions {
  /** Chosen by the server, never by a caller: 1 to 128 of `A-Z a-z 0-9 . _ : -`. */
  readonly namespace: string;
  readonly destination: WebhookDestination;
  /** Events that are retained at most, ended ones included: 1 to 99,999. */
  readonly quota: number;
  /** How long after it was recorded an event may be sent: `'1m'` to `'7d'`. Default `'1d'`. */
  readonly window?: Duration;
  /** Default `['rullst-v1']`. */
  readonly schemes?: readonly WebhookScheme[];
  /** The keys of the scheme `standard`: each signs every attempt. */
  readonly standardKeys?: readonly StandardSigner[];
}

const known = ['namespace', 'destination', 'quota', 'window', 'schemes', 'standardKeys'];

/**
 * What a namespace is: bound, with its signing key, when it is opened for the first time. Opening it with anything else fails, so
 * that old events never go to a new receiver, or signed in another way; that takes a new namespace.
 */
export class WebhookConfig extends Redacted {
  readonly namespace: string;
  readonly destination: WebhookDestination;
  readonly quota: number;
  /** In ms. */
  readonly window: number;
  readonly schemes: readonly WebhookScheme[];
  readonly standardKeys: readonly StandardSigner[];
  readonly production: boolean;
  readonly #options: WebhookConfigOptions;

  /**
   * @param production default: whether `NODE_ENV` is `production`; see {@link requireProduction}
   * @throws WebhookConfigurationError, WebhookInputError
   */
  constructor(options: WebhookConfigOptions, production = process.env.NODE_ENV === 'production') {
    super();
    requireKnown('WebhookConfig', options, known);
    this.#options = options;
    const { destination, quota, window = '1d', schemes = ['rullst-v1'] } = options;
    this.namespace = checkNamespace(options.namespace);
    this.destination = destination;
    this.quota = quota;
    const subject = `Namespace "${this.namespace}"`;
    if (!(destination instanceof WebhookDestination)) {
      throw new WebhookConfigurationError(
        `${subject}: destination must be a WebhookDestination. Make it with approvedHttps(url), or with loopbackTest(url, ca) in a test.`,
      );
    }
    if (!Number.isInteger(quota) || quota < 1 || quota > 99_999) {
      const got = shownNumber(quota);
      throw new WebhookConfigurationError(
        `${subject}: quota must be a whole number from 1 to 99999; got ${got}. Choose what the receiver may fall behind by.`,
      );
    }
    this.window = windowMs(subject, window);
    this.schemes = checkSchemes(subject, schemes);
    const signers = 'keys that sign: StandardSecret or StandardPrivateKey';
    this.standardKeys = [...requireList(subject, 'standardKeys', options.standardKeys ?? [], isSigner, signers)];
    if (schemes.includes('standard') !== this.standardKeys.length > 0) {
      throw new WebhookConfigurationError(
        `${subject}: the scheme standard and standardKeys must come together. Add the one that is missing, or leave both out.`,
      );
    }
    this.production = production;
    if (production && destination.mode !== 'https') {
      throw new WebhookConfigurationError(
        `${subject}: a test destination is refused in production. Use WebhookDestination.approvedHttps(url).`,
      );
    }
  }

  /**
   * The same, for production only: neither a test destination nor an offline signing key is accepted.
   * @throws WebhookConfigurationError
   */
  requireProduction(): WebhookConfig {
    return new WebhookConfig(this.#options, true);
  }

  /** The name of the channel that the namespace is. */
  get channel(): string {
    return `webhooks.${this.namespace}`;
  }

  protected describe(): string {
    return this.namespace;
  }
}
