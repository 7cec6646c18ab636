import { generateKeyPairSync, randomBytes, type JsonWebKey } from 'node:crypto';

/** A private signing key with its name and its algorithm. */
export type PrivateJwk = JsonWebKey & { readonly kid: string; readonly alg: string };

/** What must be the same in each replica and across restarts, and stands in no table. The first of each list is the one in use. */
export interface Secrets {
  /** 32 bytes each, as base64url: what the tokens of links are derived from. Older ones are kept for links that are under way. */
  readonly tokenDigestKeys: readonly string[];
  /** Sign ID tokens and logout tokens. All of them are published. */
  readonly signingKeys: readonly PrivateJwk[];
}

export function newSecrets(): Secrets {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = randomBytes(6).toString('hex');
  return {
    tokenDigestKeys: [randomBytes(32).toString('base64url')],
    signingKeys: [{ ...privateKey.export({ format: 'jwk' }), kid, alg: 'ES256' }],
  };
}

/**
 * From JSON, as the variable `SECRETS` or the file of a development machine has it.
 * @throws RangeError without a word of what it holds
 */
export function readSecrets(json: string): Secrets {
  const given = parsed(json) as Partial<Secrets> | undefined;
  const keys = given?.tokenDigestKeys;
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every((key) => /^[\w-]{43}$/.test(String(key)))) {
    throw new RangeError(
      'SECRETS: tokenDigestKeys must be a list of keys of 32 bytes each, as base64url; the first is the one in use.',
    );
  }
  const signing = given?.signingKeys;
  if (!Array.isArray(signing) || signing.length === 0 || !signing.every((jwk) => Object(jwk).kid && Object(jwk).alg)) {
    throw new RangeError(
      'SECRETS: signingKeys must be a list of private JWKs with kid and alg; the first is the one in use.',
    );
  }
  return { tokenDigestKeys: keys, signingKeys: signing };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // Not with the parser's message, which quotes what it could not read.
    throw new RangeError('SECRETS must be JSON: { "tokenDigestKeys": […], "signingKeys": […] }.');
  }
}
