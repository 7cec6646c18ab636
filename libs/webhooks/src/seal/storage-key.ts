import { WebhookInputError } from '../errors';
import { fingerprintOf } from '../sign/signing-key';
import { checkKeyId } from '../sign/names';
import { Redacted } from '../sign/redacted';

/** A key under which webhooks are stored: 32 random bytes that are used for nothing else. */
export class WebhookStorageKey extends Redacted {
  readonly id: string;
  readonly #bytes: Buffer;

  /**
   * @param id stored with all that is sealed under it
   * @throws WebhookInputError
   */
  constructor(id: string, bytes: Uint8Array) {
    super();
    this.id = checkKeyId(id, 'storage key ID');
    if (!(bytes instanceof Uint8Array) || bytes.length !== 32) {
      throw new WebhookInputError('storage key', '32 random bytes');
    }
    this.#bytes = Buffer.from(bytes);
  }

  fingerprint(): string {
    return fingerprintOf(this.#bytes);
  }

  /** For the cipher, and for nothing else. */
  bytes(): Buffer {
    return this.#bytes;
  }

  protected describe(): string {
    return this.id;
  }
}
