import { createPublicKey, verify, type JsonWebKey } from 'node:crypto';

/** A published key. */
export type PublishedKey = JsonWebKey & { readonly kid: string; readonly alg: string };

export interface Expected {
  readonly issuer: string;
  readonly clientId: string;
  readonly jti: string;
  readonly sub: string;
  readonly sid: string;
  readonly jwks: readonly PublishedKey[];
  /** In ms since 1970. */
  readonly now: number;
}

const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/**
 * All that is wrong with a logout token, after OpenID Connect Back-Channel Logout 1.0, sections 2.4 and 2.6, and stricter: each
 * member must be exactly what it should be, and no other may be there. Written with node:crypto alone.
 */
export function complaints(token: string, expected: Expected): string[] {
  const parts = token.split('.');
  if (parts.length !== 3 || parts.some((part) => !/^[\w-]+$/.test(part))) return ['not three parts of base64url'];
  const [header, claims] = parts.slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString())) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ];
  const { issuer, clientId, jti, sub, sid, jwks, now } = expected;
  const key = jwks.find(({ kid }) => kid === header['kid']);
  const found: string[] = [];
  const must = (what: string, holds: boolean): void => void (holds || found.push(what));

  must('header', sameNames(header, ['alg', 'kid', 'typ']));
  must('typ', header['typ'] === 'logout+jwt');
  must('kid', key !== undefined);
  must('alg', key !== undefined && header['alg'] === key.alg);
  must('signature', key !== undefined && signatureHolds(parts as [string, string, string], key));

  must('claims', sameNames(claims, ['iss', 'aud', 'iat', 'exp', 'jti', 'sub', 'sid', 'events']));
  must('iss', claims['iss'] === issuer);
  must('aud', claims['aud'] === clientId);
  must('jti', claims['jti'] === jti);
  must('sub', claims['sub'] === sub);
  must('sid', claims['sid'] === sid);
  must('nonce', !('nonce' in claims));
  must('events', JSON.stringify(claims['events']) === JSON.stringify({ [logoutEvent]: {} }));
  const { iat, exp } = claims as { iat: number; exp: number };
  must('iat', Number.isInteger(iat) && Math.abs(iat - now / 1_000) <= 10);
  must('exp', Number.isInteger(exp) && exp > now / 1_000 && exp - iat <= 120);
  return found;
}

const sameNames = (object: object, names: string[]): boolean =>
  JSON.stringify(Object.keys(object).toSorted()) === JSON.stringify(names.toSorted());

function signatureHolds([header, claims, signature]: [string, string, string], jwk: PublishedKey): boolean {
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  const algorithm = jwk.alg === 'EdDSA' ? null : 'sha256';
  const bytes = Buffer.from(`${header}.${claims}`);
  return verify(algorithm, bytes, { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
}
