import { X509Certificate } from 'node:crypto';
import { checkDestination } from 'nest-deliveries/outbound-http';
import { WebhookConfigurationError } from '../errors';
import { Redacted } from '../sign/redacted';

/** Where a namespace sends everything to. It never changes. */
export class WebhookDestination extends Redacted {
  readonly #url: string;
  readonly #ca: string | undefined;

  private constructor(
    readonly mode: 'https' | 'loopback-test',
    url: string,
    ca: string | undefined,
  ) {
    super();
    this.#url = url;
    this.#ca = ca;
  }

  /**
   * An HTTPS address that somebody approved: never one that a request brought along.
   * @throws WebhookConfigurationError for what can be refused without asking DNS
   */
  static approvedHttps(url: string): WebhookDestination {
    const verdict = checkDestination(url, { profile: 'strict' });
    if (verdict.allowed) return new WebhookDestination('https', url, undefined);
    throw new WebhookConfigurationError(
      `The destination must be a public HTTPS address; this one is refused: ${verdict.reason}. Approve another.`,
    );
  }

  /**
   * A receiver of a test on this machine: a literal loopback address, over HTTPS or HTTP. Refused in production.
   * @param ca certificate in PEM that is trusted beside the public roots
   * @throws WebhookConfigurationError
   */
  static loopbackTest(url: string, ca?: string): WebhookDestination {
    // The spelling that parsing leaves alone: what is sent to is what is written here.
    const loopback = /^https?:\/\/(127(\.[0-9]{1,3}){3}|\[::1\])(:[0-9]{1,5})?\/[^\s#\\]*$/.test(url);
    if (!loopback || new URL(url).href !== url || url.length > 2_048) {
      throw new WebhookConfigurationError(
        'The destination of a test must be http or https, a literal loopback address such as 127.0.0.1, and a path.',
      );
    }
    if (ca !== undefined && !isCertificate(ca)) {
      throw new WebhookConfigurationError('The ca of a test destination must be a certificate in PEM.');
    }
    return new WebhookDestination('loopback-test', url, ca);
  }

  /** For the request and the sealed control record, and for nothing else. */
  url(): string {
    return this.#url;
  }

  ca(): string | undefined {
    return this.#ca;
  }

  protected describe(): string {
    return this.mode;
  }
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).subject !== '';
  } catch {
    return false;
  }
}
