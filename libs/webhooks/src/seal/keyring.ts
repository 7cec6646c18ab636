import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { WebhookInputError } from '../errors';
import { decodeBase64url } from '../sign/base64';
import { framed } from '../sign/framed';
import { Redacted } from '../sign/redacted';
import { WebhookStorageKey } from './storage-key';

/** What is stored: AES-256-GCM, with the key's id, a random nonce of 96 bits, and the ciphertext with its tag of 128 bits. */
export interface Sealed {
  readonly v: 1;
  readonly key: string;
  readonly nonce: string;
  readonly data: string;
}

/** Why something sealed does not open: its key is not in the ring, or it is not what was sealed in this place. */
export class SealBrokenError extends Error {
  override readonly name = 'SealBrokenError';
  readonly code = 'WEBHOOK_SEAL';

  constructor(readonly reason: 'unknown_key' | 'not_authentic') {
    super(
      reason === 'unknown_key'
        ? 'It was sealed under a storage key that is not in the keyring. Add that key behind the primary one.'
        : 'It is not what was sealed in this place: it was changed, moved, or sealed under another key of the same id.',
    );
  }
}

const cipher = 'aes-256-gcm';
const tagLength = 16;
const mostKeys = 8;

/**
 * The storage keys of an application: a primary one, under which everything new is sealed, and older ones, which still open what
 * was sealed under them.
 *
 * A random nonce of 96 bits is safe for 2^32 seals under one key (NIST SP 800-38D, section 8.3): take a new primary key before.
 */
export class WebhookKeyring extends Redacted {
  readonly #keys: ReadonlyMap<string, WebhookStorageKey>;

  /**
   * @param older at most 7
   * @throws WebhookInputError for two keys of one id, more than 8 in all, or what is no key
   */
  constructor(
    readonly primary: WebhookStorageKey,
    ...older: readonly WebhookStorageKey[]
  ) {
    super();
    const keys = [primary, ...older];
    if (!keys.every((key) => key instanceof WebhookStorageKey)) {
      throw new WebhookInputError('keyring', 'made of storage keys: new WebhookStorageKey(id, bytes)');
    }
    this.#keys = new Map(keys.map((key) => [key.id, key]));
    if (keys.length > mostKeys) throw new WebhookInputError('keyring', `${mostKeys} keys at most`);
    if (this.#keys.size !== keys.length) throw new WebhookInputError('keyring', 'keys of different ids');
  }

  /** @param place what the seal is bound to: it does not open in another */
  seal(place: readonly string[], plain: Uint8Array): Sealed {
    const nonce = randomBytes(12);
    const sealing = createCipheriv(cipher, this.primary.bytes(), nonce, { authTagLength: tagLength });
    sealing.setAAD(placeOf(this.primary.id, place));
    const data = Buffer.concat([sealing.update(plain), sealing.final(), sealing.getAuthTag()]);
    return { v: 1, key: this.primary.id, nonce: nonce.toString('base64url'), data: data.toString('base64url') };
  }

  /** @throws SealBrokenError */
  open(place: readonly string[], sealed: unknown): Buffer {
    const { v, key: id, nonce, data } = Object(sealed) as Partial<Record<keyof Sealed, unknown>>;
    const key = typeof id === 'string' ? this.#keys.get(id) : undefined;
    if (v === 1 && typeof id === 'string' && !key) throw new SealBrokenError('unknown_key');
    const iv = typeof nonce === 'string' ? decodeBase64url(nonce) : undefined;
    const bytes = typeof data === 'string' ? decodeBase64url(data) : undefined;
    if (v !== 1 || !key || iv?.length !== 12 || !bytes || bytes.length < tagLength) {
      throw new SealBrokenError('not_authentic');
    }
    try {
      const opening = createDecipheriv(cipher, key.bytes(), iv, { authTagLength: tagLength });
      opening.setAAD(placeOf(key.id, place));
      opening.setAuthTag(bytes.subarray(-tagLength));
      return Buffer.concat([opening.update(bytes.subarray(0, -tagLength)), opening.final()]);
    } catch {
      throw new SealBrokenError('not_authentic');
    }
  }

  /** Whether something was sealed under the primary key. */
  isCurrent(sealed: Sealed): boolean {
    return sealed.key === this.primary.id;
  }

  /** Whether one of the keys has these bytes. */
  holds(fingerprint: string): boolean {
    return [...this.#keys.values()].some((key) => key.fingerprint() === fingerprint);
  }

  protected describe(): string {
    return [...this.#keys.keys()].join(', ');
  }
}

const placeOf = (keyId: string, place: readonly string[]): Buffer =>
  framed('nest-deliveries.webhook.seal.v1', keyId, ...place);
