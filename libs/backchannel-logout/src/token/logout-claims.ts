/** How long a logout token is valid, in seconds: what OpenID Connect Back-Channel Logout 1.0, section 2.4, calls short. */
export const tokenLifetime = 120;

/** The member of `events` that makes a token a logout token (section 2.4). */
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** What one token is about. */
export interface LogoutOccasion {
  readonly issuer: string;
  readonly clientId: string;
  readonly sub: string;
  readonly sid: string;
  /** The same on every attempt: receivers deduplicate on it. */
  readonly deliveryId: string;
  /** Of this attempt, in ms since 1970. */
  readonly now: number;
}

/** The claims of a logout token (section 2.4). Never a `nonce`, with which an ID token could be mistaken for one. */
export interface LogoutClaims {
  readonly iss: string;
  readonly aud: string;
  /** In seconds since 1970, as `exp`. */
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  readonly sub: string;
  readonly sid: string;
  readonly events: { readonly [logoutEvent]: Record<string, never> };
}

export function logoutClaims({ issuer, clientId, sub, sid, deliveryId, now }: LogoutOccasion): LogoutClaims {
  const iat = Math.floor(now / 1_000);
  return {
    iss: issuer,
    aud: clientId,
    iat,
    exp: iat + tokenLifetime,
    jti: deliveryId,
    sub,
    sid,
    events: { [logoutEvent]: {} },
  };
}
