import type { UrlReason } from './reasons';

const MAX_LENGTH = 2048;
/** Control characters, every kind of space and separator, halves of surrogate pairs, and the backslash. */
const FORBIDDEN = /[\p{Cc}\p{Z}\p{Cs}\\]/u;
const AUTHORITY = /^https?:\/\/([^/?]+)/i;
const HOST_AND_PORT = /^(\[[^\]]*\]|[^:]+)(?::(\d*))?$/;

/** Holds a destination's raw text to a narrow grammar and answers the host as it is written there. */
export function readText(text: unknown): { host: string } | { reason: UrlReason } {
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
