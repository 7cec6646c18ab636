import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createLocalJWKSet } from 'jose';
import type { SigningAlgorithm, SigningKey } from 'nest-deliveries/backchannel-logout';
import type { Trust } from '../../../src/demo/relying-party';
import type { PublishedKey } from './strict-checker';

export const issuer = 'https://accounts.example';

const pairs: Record<SigningAlgorithm, () => { privateKey: KeyObject; publicKey: KeyObject }> = {
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
};

/** Signing keys of an issuer that changes them: what it publishes, and what it signs with now. */
export class Issuer {
  private readonly published: PublishedKey[] = [];
  private signing!: SigningKey;

  constructor(first: SigningAlgorithm = 'ES256') {
    this.rotate(first);
  }

  /** From now on another key signs, and is the only one that is published. */
  rotate(alg: SigningAlgorithm): void {
    const { privateKey, publicKey } = pairs[alg]();
    const kid = `${alg}-${this.published.length + 1}`;
    this.signing = { kid, alg, privateKey };
    this.published.push({ ...publicKey.export({ format: 'jwk' }), kid, alg });
  }

  readonly signingKey = (): SigningKey => this.signing;

  get jwks(): PublishedKey[] {
    return [this.published.at(-1)!];
  }

  trust(clientId: string): Trust {
    const keys: Trust['keys'] = (header, token) => createLocalJWKSet({ keys: this.jwks })(header, token);
    return { issuer, clientId, keys };
  }
}
