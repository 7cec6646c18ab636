import { randomBytes, timingSafeEqual } from 'node:crypto';
import { cookieOf, formOf, headerOf, type IncomingRequest } from './request';

const cookieName = 'nest-deliveries-form';

/** The token of this browser's forms, and the cookie to set if it has none yet. */
export function formToken(request: IncomingRequest): { token: string; cookie: string | undefined } {
  const known = cookieOf(request, cookieName);
  if (known !== undefined && /^[\w-]{43}$/.test(known)) return { token: known, cookie: undefined };
  const token = randomBytes(32).toString('base64url');
  return { token, cookie: `${cookieName}=${token}; Path=/; HttpOnly; SameSite=Strict` };
}

/**
 * Why a form is not taken; undefined for one that a page of this dashboard sent. Two checks, since each has its gap: browsers say
 * where a form comes from (`Sec-Fetch-Site`) only to HTTPS and to localhost, and a sibling domain can plant a cookie.
 *
 * - `Sec-Fetch-Site`, where it is sent, must be `same-origin`; where it is not, an `Origin` must name the host that was asked
 * - the token in the form must be the one in the cookie, which another site can neither read nor send along
 */
export function whyForeign(request: IncomingRequest): 'other-site' | 'no-token' | undefined {
  const site = headerOf(request, 'sec-fetch-site');
  if (site === undefined ? !isOwnOrigin(request) : site !== 'same-origin') return 'other-site';
  return hasToken(request) ? undefined : 'no-token';
}

function isOwnOrigin(request: IncomingRequest): boolean {
  const origin = headerOf(request, 'origin');
  if (origin === undefined) return true;
  if (!URL.canParse(origin)) return false;
  // A page of another site cannot make a browser send the second header: it is a proxy's word for what it was asked.
  const hosts = [headerOf(request, 'host'), headerOf(request, 'x-forwarded-host')];
  return hosts.includes(new URL(origin).host);
}

function hasToken(request: IncomingRequest): boolean {
  const inCookie = Buffer.from(cookieOf(request, cookieName) ?? '');
  const inForm = Buffer.from(formOf(request).get('token') ?? '');
  return inCookie.length === 43 && inCookie.length === inForm.length && timingSafeEqual(inCookie, inForm);
}
