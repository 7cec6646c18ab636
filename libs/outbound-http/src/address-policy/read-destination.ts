import { isIPv4 } from 'node:net';
import { judgeAddress, type AddressRules, type Profile } from './classify-address';
import { readHost } from './read-host';
import { readText } from './read-text';
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

function isLoopback(literal: string): boolean {
  return literal === '::1' || (isIPv4(literal) && literal.startsWith('127.'));
}
