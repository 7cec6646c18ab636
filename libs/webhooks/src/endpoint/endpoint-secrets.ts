import { randomBytes } from 'node:crypto';
import type { SigningKeys } from '../send/signing';
import { WebhookSigningKey } from '../sign/signing-key';
import { StandardPrivateKey, StandardSecret } from '../sign/standard-keys';

/** How an endpoint's requests are signed: `standard` with a shared secret (`v1`), `ed25519` with a key pair (`v1a`). */
export const endpointSchemes = ['rullst-v1', 'standard', 'ed25519'] as const;

export type EndpointScheme = (typeof endpointSchemes)[number];

/** A secret as it is sealed with its endpoint. */
export interface StoredSecret {
  /** The key id of `rullst-v1`. */
  readonly id: string;
  /** 32 bytes in base64: of the symmetric schemes. */
  readonly shared: string;
  /** 32 bytes in base64: of Ed25519. */
  readonly seed: string;
  /** In ms since 1970; undefined for the current one. */
  readonly expiresAt?: number;
}

/** What a tenant needs to verify: shown once, when it is made. */
export interface ShownSecrets {
  /** For `rullst-v1`. */
  readonly keyId?: string;
  readonly signingKey?: string;
  /** For `standard`: `whsec_…`. */
  readonly secret?: string;
  /** For `ed25519`: `whpk_…`, which is no secret. */
  readonly publicKey?: string;
}

/** How many secrets an endpoint has at most, while old ones run out. */
export const mostSecrets = 5;

export const newSecret = (): StoredSecret => ({
  id: `key-${randomBytes(6).toString('hex')}`,
  shared: randomBytes(32).toString('base64'),
  seed: randomBytes(32).toString('base64'),
});

/** Those that are still good. @param secrets newest first @param now in ms since 1970 */
export const liveSecrets = (secrets: readonly StoredSecret[], now: number): StoredSecret[] =>
  secrets.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);

/**
 * The keys that sign now. Standard Webhooks carries a signature for each live secret. `rullst-v1` carries one: during an overlap it
 * is the older secret's, so that a receiver has until its end to add the new one.
 *
 * @param secrets newest first
 * @param now in ms since 1970
 */
export function keysOf(secrets: readonly StoredSecret[], schemes: readonly EndpointScheme[], now: number): SigningKeys {
  const live = liveSecrets(secrets, now);
  const oldest = live.at(-1)!;
  return {
    rullst: schemes.includes('rullst-v1') ? new WebhookSigningKey(oldest.id, keyTextOf(oldest)) : undefined,
    standard: [
      ...(schemes.includes('standard') ? live.map(({ shared }) => new StandardSecret(`whsec_${shared}`)) : []),
      ...(schemes.includes('ed25519') ? live.map(({ seed }) => new StandardPrivateKey(`whsk_${seed}`)) : []),
    ],
  };
}

export function shownOf(secret: StoredSecret, schemes: readonly EndpointScheme[]): ShownSecrets {
  return {
    ...(schemes.includes('rullst-v1') && { keyId: secret.id, signingKey: keyTextOf(secret) }),
    ...(schemes.includes('standard') && { secret: `whsec_${secret.shared}` }),
    ...(schemes.includes('ed25519') && { publicKey: new StandardPrivateKey(`whsk_${secret.seed}`).publicKey }),
  };
}

const keyTextOf = ({ shared }: StoredSecret): string => Buffer.from(shared, 'base64').toString('base64url');
