import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { WebhookInputError, WebhookSignatureError } from '../errors';
import { decodeBase64url } from './base64';
import { checkSkew, requireFresh } from './clock';
import { framed } from './framed';
import { checkKeyId } from './names';
import { Redacted } from './redacted';
import { WebhookSignature, type SignedHeaders } from './webhook-signature';

const signatureDomain = 'rullst.webhook.signature.v1';
const eventKeyDomain = 'rullst.webhook.event-key.v1';
const contentDomain = 'nest-deliveries.webhook.content.v1';
const fingerprintDomain = 'rullst.webhook.configuration.key.v1';

/** What a signature covers. */
export interface SignedMessage {
  /** `msg_` and 32 hexadecimal digits. */
  readonly id: string;
  readonly kind: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
  /** The exact bytes that are sent. */
  readonly body: Uint8Array;
}

/**
 * A key of the scheme `rullst-v1`: HMAC-SHA256 over the fields of a message, each preceded by its length.
 *
 * Its text is the canonical unpadded base64url of 32 random bytes. Empty text, or text that begins with `mock_` (128 characters at
 * most), makes an offline key: deliveries signed with it are taken for accepted without being sent, and it verifies nothing.
 */
export class WebhookSigningKey extends Redacted {
  readonly id: string;
  readonly offline: boolean;
  readonly #bytes: Buffer;

  /** @throws WebhookInputError */
  constructor(id: string, encoded: string) {
    super();
    this.id = checkKeyId(id);
    // A variable of the environment that is not set must not send everything nowhere.
    const text = typeof encoded === 'string' ? encoded : 'not given';
    this.offline = text === '' || /^mock_[\x20-\x7e]{0,123}$/.test(text);
    const bytes = this.offline
      ? createHash('sha256').update(framed('nest-deliveries.webhook.offline-key.v1', text)).digest()
      : decodeBase64url(text);
    if (bytes?.length !== 32) {
      throw new WebhookInputError('signing key', 'the canonical unpadded base64url of 32 random bytes (43 characters)');
    }
    this.#bytes = bytes;
  }

  /** The headers of one attempt. */
  sign(message: SignedMessage): SignedHeaders {
    return {
      'Rullst-Webhook-Id': message.id,
      'Rullst-Webhook-Type': message.kind,
      'Rullst-Webhook-Timestamp': String(message.timestamp),
      'Rullst-Webhook-Key-Id': this.id,
      'Rullst-Webhook-Signature': `v1=${this.#tag(message).toString('base64url')}`,
    };
  }

  /**
   * Verifies what arrived.
   *
   * It keeps no state, and so lets the same message pass again within the skew: deduplicate on the id.
   *
   * @param body the raw bytes, before anything has parsed them
   * @param now a clock that the sender cannot influence, in ms since 1970
   * @param maxSkew in seconds, 1 to 300
   * @throws WebhookSignatureError for whatever is wrong with it; WebhookInputError, WebhookClockError for a mistake of the caller
   */
  verify(signature: WebhookSignature, body: Uint8Array, now: number, maxSkew: number): void {
    checkSkew(maxSkew);
    requireFresh(signature.timestamp, now, maxSkew);
    const { id, kind, timestamp } = signature;
    const same = timingSafeEqual(this.#tag({ id, kind, timestamp, body }), signature.tag());
    if (!same || this.offline || signature.keyId !== this.id) throw new WebhookSignatureError();
  }

  /** Tells keys apart without giving them away, in hexadecimal digits. */
  fingerprint(): string {
    return fingerprintOf(this.#bytes);
  }

  /** What is stored in the place of an event key. */
  eventKeyTag(namespace: string, eventKey: string): string {
    return this.#hmac(framed(eventKeyDomain, namespace, eventKey)).toString('base64url');
  }

  /** What is stored to tell whether an event is the same again. A plain digest would let short bodies be guessed. */
  contentTag(namespace: string, kind: string, body: Uint8Array): string {
    return this.#hmac(framed(contentDomain, namespace, kind, body)).toString('base64url');
  }

  protected describe(): string {
    return `${this.id}${this.offline ? ', offline' : ''}`;
  }

  #tag({ id, kind, timestamp, body }: SignedMessage): Buffer {
    return this.#hmac(framed(signatureDomain, this.id, id, kind, String(timestamp), body));
  }

  #hmac(input: Buffer): Buffer {
    return createHmac('sha256', this.#bytes).update(input).digest();
  }
}

/** Of the bytes of any key. */
export const fingerprintOf = (bytes: Uint8Array): string =>
  createHash('sha256').update(fingerprintDomain).update(bytes).digest('hex');
