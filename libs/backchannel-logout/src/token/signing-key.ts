import { KeyObject, type webcrypto } from 'node:crypto';
import { SigningKeyError } from '../errors';

/** What a logout token may be signed with. `none` and shared secrets are not among them. */
export const signingAlgorithms = ['RS256', 'ES256', 'EdDSA'] as const;

export type SigningAlgorithm = (typeof signingAlgorithms)[number];

/** A private key whose public half is in the issuer's JWKS, under the same `kid`. */
export interface SigningKey {
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly privateKey: KeyObject | webcrypto.CryptoKey;
}

/** Key types, and for elliptic curves the curve, that go with each algorithm (RFC 7518, section 3.1; RFC 8037, section 3.1). */
const fitting: Record<SigningAlgorithm, (key: KeyObject) => boolean> = {
  RS256: ({ asymmetricKeyType: type, asymmetricKeyDetails: details }) =>
    type === 'rsa' && (details?.modulusLength ?? 0) >= 2_048,
  ES256: ({ asymmetricKeyType: type, asymmetricKeyDetails: details }) =>
    type === 'ec' && details?.namedCurve === 'prime256v1',
  EdDSA: ({ asymmetricKeyType: type }) => type === 'ed25519',
};

/** @throws SigningKeyError for a key that a relying party could not verify with, or should not trust */
export function requireSigningKey(key: SigningKey): SigningKey {
  const given = key as Partial<SigningKey> | undefined;
  if (typeof given?.kid !== 'string' || given.kid === '') {
    throw new SigningKeyError(
      'The signing key has no kid: relying parties find the public key in the JWKS by it. Name it.',
    );
  }
  if (!signingAlgorithms.includes(given.alg!)) {
    throw new SigningKeyError(
      `alg of signing key ${JSON.stringify(given.kid)} must be one of ${signingAlgorithms.join(', ')}; got ${JSON.stringify(given.alg)}.`,
    );
  }
  const privateKey = keyObjectOf(given.privateKey);
  if (privateKey?.type !== 'private' || !fitting[key.alg](privateKey)) {
    throw new SigningKeyError(
      `privateKey of signing key ${JSON.stringify(given.kid)} must be a private key for ${key.alg} ` +
        '(RS256: RSA of 2048 bits or more; ES256: P-256; EdDSA: Ed25519). Generate one, and publish its public half in the JWKS.',
    );
  }
  return key;
}

function keyObjectOf(key: unknown): KeyObject | undefined {
  if (key instanceof KeyObject) return key;
  try {
    return KeyObject.from(key as webcrypto.CryptoKey);
  } catch {
    return undefined;
  }
}
