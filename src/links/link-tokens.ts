import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What a link is for. A token of one purpose is none of another. */
export type Purpose = 'verification' | 'recovery' | 'unsubscribe';

/**
 * The tokens of links. None is stored: one is the HMAC of an id under a key that is derived from the token digest key, so that
 * whoever sends the link derives it again, as often as needed. What is stored is its SHA-256 digest, which the token that comes
 * back is looked up by.
 */
export class LinkTokens {
  private readonly keys: readonly Record<Purpose, Buffer>[];

  /** @param digestKeys of 32 bytes each, as base64url; new tokens are made with the first */
  constructor(digestKeys: readonly string[]) {
    this.keys = digestKeys.map((text) => {
      const key = Buffer.from(text, 'base64url');
      const derived = (purpose: Purpose): Buffer => Buffer.from(hkdfSync('sha256', key, '', `${purpose} link`, 32));
      return {
        verification: derived('verification'),
        recovery: derived('recovery'),
        unsubscribe: derived('unsubscribe'),
      };
    });
  }

  /** The digest to store of a new link's token. */
  digestOf(purpose: Purpose, id: string): Buffer {
    return tokenDigest(tokenOf(this.keys[0]![purpose], id));
  }

  /**
   * The token whose digest was stored, under whichever key it was made with: a link that is sent during a change of keys works
   * after it.
   * @returns undefined when no key that is configured made it
   */
  rebuild(purpose: Purpose, id: string, digest: Buffer): string | undefined {
    return this.tokens(purpose, id).find((token) => timingSafeEqual(tokenDigest(token), digest));
  }

  /** A token that says by itself whose it is, and is recognised without a stored digest: `<id>.<HMAC>`. */
  speaking(purpose: Purpose, id: string): string {
    return `${id}.${tokenOf(this.keys[0]![purpose], id)}`;
  }

  /** @returns the id of a {@link speaking} token, or undefined */
  idOf(purpose: Purpose, token: string): string | undefined {
    const [, id, mac] = /^([0-9a-f-]{36})\.([\w-]{43})$/.exec(token) ?? [];
    if (id === undefined || mac === undefined) return undefined;
    const known = this.tokens(purpose, id).some((each) => timingSafeEqual(Buffer.from(each), Buffer.from(mac)));
    return known ? id : undefined;
  }

  private tokens(purpose: Purpose, id: string): string[] {
    return this.keys.map((key) => tokenOf(key[purpose], id));
  }
}

const tokenOf = (key: Buffer, id: string): string => createHmac('sha256', key).update(id).digest('base64url');

/** What is stored of a token. */
export const tokenDigest = (token: string): Buffer => createHash('sha256').update(token).digest();
