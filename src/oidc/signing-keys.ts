import { createPrivateKey, createPublicKey, type JsonWebKey } from 'node:crypto';
import type { SigningAlgorithm, SigningKey } from 'nest-deliveries/backchannel-logout';
import type { PrivateJwk } from '../secrets';

/** A key as clients see it. */
export type PublicJwk = JsonWebKey & { readonly kid: string; readonly alg: string; readonly use: 'sig' };

/** The keys that ID tokens and logout tokens are signed with, and what is published of them. */
export class SigningKeys {
  readonly current: SigningKey;
  readonly published: readonly PublicJwk[];

  /** @param keys the first signs; the others were in use, or will be, and are published all the same */
  constructor(keys: readonly PrivateJwk[]) {
    const [first] = keys;
    this.current = { kid: first!.kid, alg: first!.alg as SigningAlgorithm, privateKey: privateKeyOf(first!) };
    this.published = keys.map((jwk) => ({
      ...createPublicKey(privateKeyOf(jwk)).export({ format: 'jwk' }),
      kid: jwk.kid,
      alg: jwk.alg,
      use: 'sig',
    }));
  }
}

const privateKeyOf = (jwk: PrivateJwk) => createPrivateKey({ key: jwk, format: 'jwk' });
