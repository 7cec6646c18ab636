import { WebhookConfigurationError } from '../errors';
import { WebhookVerifier, type WebhookVerifierOptions } from './webhook-verifier';

/** The verifiers of an application, by the name of who sends. */
export class WebhookReceivers {
  private readonly bySource: ReadonlyMap<string, WebhookVerifier>;

  /** @throws WebhookConfigurationError */
  constructor(options: Readonly<Record<string, WebhookVerifierOptions>> = {}) {
    this.bySource = new Map(
      Object.entries(options).map(([source, keys]) => [source, new WebhookVerifier(source, keys)]),
    );
  }

  /** @throws WebhookConfigurationError */
  get(source: string): WebhookVerifier {
    const verifier = this.bySource.get(source);
    if (verifier) return verifier;
    const known = [...this.bySource.keys()].join(', ') || 'none';
    throw new WebhookConfigurationError(
      `@VerifyWebhook("${source}") names a sender that WebhooksModule does not know; known are: ${known}. Add it to the option receive.`,
    );
  }
}
