import { WebhookConfigurationError, WebhookSignatureError } from '../errors';
import { requireKnown, requireList, shownNumber } from '../known-options';
import { bodyLimit } from '../sign/json-bytes';
import { Redacted } from '../sign/redacted';
import { WebhookSigningKey } from '../sign/signing-key';
import { hasHeader } from '../sign/single-headers';
import { verifyStandard } from '../sign/standard';
import { isVerifier, type StandardVerifier } from '../sign/standard-keys';
import { WebhookSignature } from '../sign/webhook-signature';

export interface WebhookVerifierOptions {
  /** Keys of the scheme `rullst-v1`; during a change of key both. */
  readonly rullst?: readonly WebhookSigningKey[];
  /** Keys of Standard Webhooks: `StandardSecret` or `StandardPublicKey`. */
  readonly standard?: readonly StandardVerifier[];
  /** How far the sender's clock, and the way here, may be off: 1 to 300 whole seconds. Default 300. */
  readonly tolerance?: number;
  /** Bytes of a body at most. Default 65,536. */
  readonly limit?: number;
}

/** A message that was verified. */
export interface ReceivedMessage {
  /** Who sent it: the name under which its verifier is registered. */
  readonly source: string;
  readonly scheme: 'rullst-v1' | 'standard';
  /** The same on every attempt: what to deduplicate on. */
  readonly id: string;
  /** Undefined under Standard Webhooks, which has no header for it. */
  readonly kind?: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  /** The raw bytes that were signed. */
  readonly body: Uint8Array;
}

/** Verifies what one sender signs. It keeps no state: the same message passes again, until it is too old. */
export class WebhookVerifier extends Redacted {
  /** In seconds. */
  readonly tolerance: number;
  /** In bytes. */
  readonly limit: number;
  readonly #rullst: ReadonlyMap<string, WebhookSigningKey>;
  readonly #standard: readonly StandardVerifier[];

  /** @throws WebhookConfigurationError */
  constructor(
    readonly source: string,
    options: WebhookVerifierOptions,
  ) {
    super();
    requireKnown(`Receiver "${source}"`, options, ['rullst', 'standard', 'tolerance', 'limit']);
    const { tolerance = 300, limit = bodyLimit } = options;
    const subject = `Receiver "${source}"`;
    const rullst = requireList(subject, 'rullst', options.rullst ?? [], isSigningKey, 'WebhookSigningKey');
    const verifiers = 'keys that verify: StandardSecret or StandardPublicKey';
    const standard = requireList(subject, 'standard', options.standard ?? [], isVerifier, verifiers);
    this.tolerance = tolerance;
    this.limit = limit;
    this.#rullst = new Map(rullst.map((key) => [key.id, key]));
    this.#standard = [...standard];
    const refuse = (rule: string): never => {
      throw new WebhookConfigurationError(`Receiver "${source}": ${rule}`);
    };
    if (rullst.length + standard.length === 0)
      refuse('there must be at least one key. Add one to rullst or to standard.');
    if (this.#rullst.size !== rullst.length) refuse('two keys of rullst have the same id. Give each its own.');
    if (rullst.some(({ offline }) => offline)) {
      refuse('an offline key (empty, or mock_…) verifies nothing. Use the one that the sender signs with.');
    }
    if (!Number.isInteger(tolerance) || tolerance < 1 || tolerance > 300) {
      refuse(`tolerance must be 1 to 300 whole seconds; got ${shownNumber(tolerance)}. Leave it out for 300.`);
    }
    if (!Number.isInteger(limit) || limit < 1) {
      refuse(`limit must be a whole number of bytes, above 0; got ${shownNumber(limit)}. Leave it out for 65,536.`);
    }
  }

  /**
   * @param rawHeaders Node's `request.rawHeaders`
   * @param body the raw bytes, no more than `limit` of them
   * @param now in ms since 1970
   * @throws WebhookSignatureError, whatever is wrong with it
   */
  verify(rawHeaders: readonly string[], body: Uint8Array, now = Date.now()): ReceivedMessage {
    if (this.#rullst.size > 0 && hasHeader(rawHeaders, 'rullst-webhook-signature')) {
      const signature = WebhookSignature.fromRawHeaders(rawHeaders);
      const key = this.#rullst.get(signature.keyId);
      if (!key) throw new WebhookSignatureError();
      key.verify(signature, body, now, this.tolerance);
      const { id, kind, timestamp } = signature;
      return { source: this.source, scheme: 'rullst-v1', id, kind, timestamp, body };
    }
    if (this.#standard.length === 0) throw new WebhookSignatureError();
    const { id, timestamp } = verifyStandard(this.#standard, rawHeaders, body, now, this.tolerance);
    return { source: this.source, scheme: 'standard', id, timestamp, body };
  }

  protected describe(): string {
    return this.source;
  }
}

const isSigningKey = (key: unknown): key is WebhookSigningKey => key instanceof WebhookSigningKey;
