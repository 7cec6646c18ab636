import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { jwtVerify, type JWTVerifyGetKey } from 'jose';
import type { TestCertificate } from './certificates';

/** A logout token as a relying party received it. */
export interface LogoutArrival {
  /** The path that it was posted to. */
  readonly path: string;
  readonly contentType: string;
  readonly token: string;
  /** What a verifier of its own says: `accepted`, or why not. */
  readonly verdict: string;
  /** From an accepted token. */
  readonly sub: string | undefined;
  readonly sid: string | undefined;
  readonly jti: string | undefined;
  /** In ms since 1970. */
  readonly arrivedAt: number;
}

/** What it answers, in the place of 200 for an accepted token and 400 for any other. */
export type LogoutAnswer =
  { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string } | undefined;

/** A client of the issuer on this machine, that verifies with other people's code. */
export interface RelyingParty {
  /** Without a path. */
  readonly origin: string;
  readonly arrivals: readonly LogoutArrival[];
  behave(behaviour: (arrival: LogoutArrival) => LogoutAnswer | Promise<LogoutAnswer>): void;
  close(): void;
}

/** What a relying party knows of its issuer. */
export interface Trust {
  readonly issuer: string;
  readonly clientId: string;
  /** The issuer's published keys. */
  readonly keys: JWTVerifyGetKey;
}

/** @param trustAt by the path that a token is posted to */
export async function startRelyingParty(
  { certificate, key }: TestCertificate,
  trustAt: (path: string) => Trust,
): Promise<RelyingParty> {
  const arrivals: LogoutArrival[] = [];
  let behaviour: Parameters<RelyingParty['behave']>[0] = () => undefined;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const arrival = await readArrival(request, trustAt(request.url!));
    arrivals.push(arrival);
    const answer = (await behaviour(arrival)) ?? { status: arrival.verdict === 'accepted' ? 200 : 400 };
    // OpenID Connect Back-Channel Logout 1.0, section 2.8: nobody keeps the answer.
    response.writeHead(answer.status, { 'cache-control': 'no-store', ...answer.headers }).end(answer.body);
  };
  const server = createServer({ cert: certificate, key }, (request, response) => {
    // The sender may be gone.
    response.on('error', () => undefined);
    handle(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    behave: (next) => void (behaviour = next),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function readArrival(request: IncomingMessage, trust: Trust): Promise<LogoutArrival> {
  const token = new URLSearchParams(await text(request)).get('logout_token') ?? '';
  const arrivedAt = Date.now();
  const { verdict, claims } = await verify(token, trust, arrivedAt);
  return {
    path: request.url!,
    contentType: request.headers['content-type'] ?? '',
    token,
    verdict,
    sub: claims?.sub,
    sid: claims?.sid,
    jti: claims?.jti,
    arrivedAt,
  };
}

/** What OpenID Connect Back-Channel Logout 1.0 asks of a relying party in section 2.6. @param now in ms since 1970 */
export async function verify(
  token: string,
  { issuer, clientId, keys }: Trust,
  now: number,
): Promise<{ verdict: string; claims?: { sub?: string; sid?: string; jti?: string } }> {
  try {
    const { payload } = await jwtVerify(token, keys, {
      issuer,
      audience: clientId,
      typ: 'logout+jwt',
      algorithms: ['RS256', 'ES256', 'EdDSA'],
      requiredClaims: ['iat', 'exp', 'jti', 'events'],
      currentDate: new Date(now),
      clockTolerance: 5,
    });
    const { sub, sid, jti } = payload as { sub?: string; sid?: string; jti?: string };
    const events = payload['events'] as Readonly<Record<string, unknown>> | null;
    if (payload['nonce'] !== undefined) return { verdict: 'it has a nonce' };
    if (typeof events?.['http://schemas.openid.net/event/backchannel-logout'] !== 'object') {
      return { verdict: 'it is no logout token' };
    }
    if (sub === undefined && sid === undefined) return { verdict: 'it says neither who nor which session' };
    return { verdict: 'accepted', claims: { ...(sub && { sub }), ...(sid && { sid }), ...(jti && { jti }) } };
  } catch (error) {
    return { verdict: (error as { code?: string }).code ?? String(error) };
  }
}
