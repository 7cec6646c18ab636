import { isIPv4 } from 'node:net';
import { domainToUnicode } from 'node:url';
import { readAddress } from './address';
import type { AddressReason, UrlReason } from './reasons';

export type Host = { hostname: string; literal: boolean } | { reason: AddressReason | UrlReason };

/** Compares the host as written with the host as parsed, and holds names to the form that DNS can answer. */
export function readHost(written: string, parsed: string): Host {
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
