import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  sign,
  timingSafeEqual,
  verify,
  type KeyObject,
} from 'node:crypto';
import { WebhookInputError } from '../errors';
import { decodeBase64 } from './base64';
import { fingerprintOf, WebhookSigningKey } from './signing-key';
import { Redacted } from './redacted';

/** A key that signs messages of the Standard Webhooks scheme. */
export interface StandardSigner {
  /** An entry of the header `webhook-signature`. */
  sign(content: Uint8Array): string;
  fingerprint(): string;
}

/** A key that verifies messages of the Standard Webhooks scheme. */
export interface StandardVerifier {
  /** The version of the entries that are for it. */
  readonly version: 'v1' | 'v1a';
  verify(content: Uint8Array, signature: Uint8Array): boolean;
}

export const isSigner = (key: unknown): key is StandardSigner => {
  const { sign: signs, fingerprint } = Object(key) as Partial<StandardSigner>;
  // A key of the other scheme has these, too.
  return typeof signs === 'function' && typeof fingerprint === 'function' && !(key instanceof WebhookSigningKey);
};

export const isVerifier = (key: unknown): key is StandardVerifier =>
  typeof (Object(key) as Partial<StandardVerifier>).verify === 'function' &&
  ['v1', 'v1a'].includes((key as StandardVerifier).version);

/** A symmetric secret (`v1`): `whsec_` and the canonical base64 of 24 to 64 bytes. */
export class StandardSecret extends Redacted implements StandardSigner, StandardVerifier {
  readonly version = 'v1';
  readonly #bytes: Buffer;

  /** @throws WebhookInputError for any other spelling, since libraries differ in what they make of it */
  constructor(text: string) {
    super();
    const bytes = afterPrefix(text, 'whsec_');
    if (!bytes || bytes.length < 24 || bytes.length > 64) {
      throw new WebhookInputError('Standard Webhooks secret', 'whsec_ and the padded base64 of 24 to 64 bytes');
    }
    this.#bytes = bytes;
  }

  sign(content: Uint8Array): string {
    return `v1,${this.#tag(content).toString('base64')}`;
  }

  verify(content: Uint8Array, signature: Uint8Array): boolean {
    return signature.length === 32 && timingSafeEqual(this.#tag(content), signature);
  }

  fingerprint(): string {
    return fingerprintOf(this.#bytes);
  }

  protected describe(): string {
    return 'v1';
  }

  #tag(content: Uint8Array): Buffer {
    return createHmac('sha256', this.#bytes).update(content).digest();
  }
}

/** What PKCS #8 and SPKI write before the 32 bytes of an Ed25519 key: RFC 8410. */
const privateHeader = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicHeader = Buffer.from('302a300506032b6570032100', 'hex');

/** A private Ed25519 key (`v1a`): `whsk_` and the base64 of its 32-byte seed, or of the seed and the public key. */
export class StandardPrivateKey extends Redacted implements StandardSigner {
  /** What receivers verify with: `whpk_` and base64. */
  readonly publicKey: string;
  readonly #key: KeyObject;
  readonly #seed: Buffer;

  /** @throws WebhookInputError */
  constructor(text: string) {
    super();
    const bytes = afterPrefix(text, 'whsk_');
    const refused = new WebhookInputError(
      'Standard Webhooks private key',
      'whsk_ and the padded base64 of a 32-byte Ed25519 seed, or of the seed and its public key',
    );
    if (bytes?.length !== 32 && bytes?.length !== 64) throw refused;
    this.#seed = bytes.subarray(0, 32);
    this.#key = createPrivateKey({ key: Buffer.concat([privateHeader, this.#seed]), format: 'der', type: 'pkcs8' });
    const publicBytes = createPublicKey(this.#key)
      .export({ format: 'der', type: 'spki' })
      .subarray(publicHeader.length);
    if (bytes.length === 64 && !bytes.subarray(32).equals(publicBytes)) throw refused;
    this.publicKey = `whpk_${publicBytes.toString('base64')}`;
  }

  sign(content: Uint8Array): string {
    return `v1a,${sign(null, content, this.#key).toString('base64')}`;
  }

  fingerprint(): string {
    return fingerprintOf(this.#seed);
  }

  protected describe(): string {
    return `v1a, ${this.publicKey}`;
  }
}

/** A public Ed25519 key (`v1a`): `whpk_` and base64. */
export class StandardPublicKey implements StandardVerifier {
  readonly version = 'v1a';
  readonly #key: KeyObject;

  /** @throws WebhookInputError */
  constructor(readonly text: string) {
    const bytes = afterPrefix(text, 'whpk_');
    if (bytes?.length !== 32) {
      throw new WebhookInputError('Standard Webhooks public key', 'whpk_ and the padded base64 of 32 bytes');
    }
    this.#key = createPublicKey({ key: Buffer.concat([publicHeader, bytes]), format: 'der', type: 'spki' });
  }

  verify(content: Uint8Array, signature: Uint8Array): boolean {
    return signature.length === 64 && verify(null, content, this.#key, signature);
  }
}

function afterPrefix(text: unknown, prefix: string): Buffer | undefined {
  return typeof text === 'string' && text.startsWith(prefix) ? decodeBase64(text.slice(prefix.length)) : undefined;
}
