import { isIPv4 } from 'node:net';
import { domainToUnicode } from 'node:url';
import { readAddress } from './address';
import { judgeAddress, type AddressRules, type Profile } from './classify-address';
import type { AddressReason, UrlReason, Verdict } from './reasons';

/** A destination whose text has passed. A name's addresses are still to be judged; a literal's has been. */
export interface Destination {
  protocol: 'https:' | 'http:';
  /** Scheme, host and port as WHATWG serializes them: what connections are kept by. */
  origin: string;
  /** ASCII, lower case, IPv6 without brackets. */
  hostname: string;
  port: number;
  /** Path and query, percent-encoded. */
  path: string;
  /** Whether the host is an IP literal: then nothing is resolved. */
  literal: boolean;
}

export interface DestinationRules extends AddressRules {
  /** Lets loopback literals through, over HTTP as well. */
  testMode: boolean;
}

export type DestinationVerdict =
  | { allowed: true; destination: Destination }
  /** `address` is there when an address was refused; it belongs in operators' logs and nowhere else. */
  | { allowed: false; reason: AddressReason | UrlReason; address?: string };

/**
 * Everything about a destination that can be decided without DNS, by a profile alone: for checking a URL when it is
 * registered. Sending checks it again, and the addresses of a name too.
 */
export function checkDestination(url: string, options: { profile: Profile }): Verdict {
  const verdict = readDestination(url, { profile: options.profile, deny: [], allow: [], testMode: false });
  return verdict.allowed ? { allowed: true } : { allowed: false, reason: verdict.reason };
}

/**
 * Reads a destination from its raw text. The text itself is held to a narrow grammar before the WHATWG parser sees
 * it, and what the parser then calls the host must be what the text shows: a parser that repairs input is how a check
 * and a connection come to disagree.
 */
export function readDestination(text: string, rules: DestinationRules): DestinationVerdict {
  const raw = readText(text);
  if ('reason' in raw) {
    return { allowed: false, reason: raw.reason };
  }
  const url = parse(text);
  const host = url && readHost(raw.host, url.hostname);
  if (!host) {
    return { allowed: false, reason: 'malformed' };
  }
  if ('reason' in host) {
    return { allowed: false, reason: host.reason };
  }
  const loopback = rules.testMode && host.literal && isLoopback(host.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)) {
    return { allowed: false, reason: 'not-https' };
  }
  if (host.literal) {
    const verdict = judgeAddress(host.hostname, rules);
    if (!verdict.allowed && !(loopback && verdict.reason === 'loopback')) {
      return { ...verdict, address: host.hostname };
    }
  }
  return {
    allowed: true,
    destination: {
      protocol: url.protocol,
      origin: url.origin,
      hostname: host.hostname,
      port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
      path: url.pathname + url.search,
      literal: host.literal,
    },
  };
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

const MAX_LENGTH = 2048;
/** Control characters, every kind of space and separator, halves of surrogate pairs, and the backslash. */
const FORBIDDEN = /[\p{Cc}\p{Z}\p{Cs}\\]/u;
const AUTHORITY = /^https?:\/\/([^/?]+)/i;
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]+)(?::(\d*))?$/;

function readText(text: unknown): { host: string } | { reason: UrlReason } {
  if (typeof text !== 'string') {
    return { reason: 'malformed' };
  }
  if (text.length > MAX_LENGTH) {
    return { reason: 'too-long' };
  }
  if (FORBIDDEN.test(text)) {
    return { reason: 'forbidden-character' };
  }
  if (text.includes('#')) {
    return { reason: 'fragment' };
  }
  const authority = AUTHORITY.exec(text)?.[1];
  if (authority === undefined) {
    return { reason: /^https:/i.test(text) ? 'malformed' : 'not-https' };
  }
  if (authority.includes('@')) {
    return { reason: 'credentials' };
  }
  const [, host, port = ''] = HOST_AND_PORT.exec(authority) ?? [];
  if (host === undefined) {
    return { reason: 'malformed' };
  }
  if (port !== '' && (Number(port) === 0 || Number(port) > 65535)) {
    return { reason: 'port' };
  }
  return { host };
}

type Host = { hostname: string; literal: boolean } | { reason: AddressReason | UrlReason };

/** Compares the host as written with the host as parsed, and holds names to the form that DNS can answer. */
function readHost(written: string, parsed: string): Host {
  if (written.startsWith('[')) {
    const [inside, understood] = [readAddress(written.slice(1, -1)), readAddress(parsed.slice(1, -1))];
    return inside && inside.toString() === understood?.toString()
      ? { hostname: parsed.slice(1, -1), literal: true }
      : { reason: 'not-an-address' };
  }
  if (parsed.endsWith('.')) {
    return { reason: 'trailing-dot' };
  }
  // Only ASCII letters are folded: folding all of Unicode would let a Kelvin sign pass for the letter k.
  const folded = written.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
  if (folded !== parsed && folded !== domainToUnicode(parsed)) {
    return { reason: 'host-not-canonical' };
  }
  if (isIPv4(parsed)) {
    return { hostname: parsed, literal: true };
  }
  return readName(parsed);
}

/** RFC 1035 section 2.3.4 lengths; the underscore is no host name letter, yet names with one resolve and are in use. */
const LABEL = /^[a-z0-9_-]{1,63}$/;
const MAX_NAME = 253;

function readName(name: string): Host {
  const labels = name.split('.');
  if (labels.at(-1) === 'localhost') {
    return { reason: 'localhost' };
  }
  if (labels.length < 2) {
    return { reason: 'single-label' };
  }
  if (name.length > MAX_NAME || !labels.every((label) => LABEL.test(label))) {
    return { reason: 'name-not-valid' };
  }
  return { hostname: name, literal: false };
}

function isLoopback(literal: string): boolean {
  return literal === '::1' || (isIPv4(literal) && literal.startsWith('127.'));
}
