import { IPv4, IPv6 } from 'ipaddr.js';
import { isIPv4, isIPv6 } from 'node:net';

/** A parsed address of either family. */
export type Address = IPv4 | IPv6;

/**
 * Parses an address literal. IPv4 only in canonical dotted decimal, IPv6 in any spelling of RFC 4291 section 2.2,
 * without brackets. Answers undefined for everything else, zone ids included: one spelling that two parsers read
 * differently is enough to get past a check.
 */
export function readAddress(text: string): Address | undefined {
  // ipaddr.js also reads octal, hexadecimal and short IPv4 forms, so the platform's strict grammar decides first.
  if (isIPv4(text)) {
    return IPv4.parse(text);
  }
  return isIPv6(text) && !text.includes('%') ? IPv6.parse(text.replace(DOTTED_TAIL, asGroups)) : undefined;
}

/** ipaddr.js reads `::8.8.8.8` as if it were `::ffff:8.8.8.8`, another address: it is handed hexadecimal groups only. */
const DOTTED_TAIL = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;

function asGroups(_tail: string, a: string, b: string, c: string, d: string): string {
  const group = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16);
  return `${group(a, b)}:${group(c, d)}`;
}

/**
 * One text for each place that a packet can go: an IPv4-mapped address is the IPv4 address, since the socket layer
 * connects to that and may report either spelling.
 */
export function canonicalText(address: Address): string {
  const reached = address instanceof IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
  return reached instanceof IPv6 ? reached.toNormalizedString() : reached.toString();
}

/** The IPv4 address that an IPv4-mapped, NAT64 (RFC 6052, /96) or 6to4 (RFC 3056) address leads to. */
export function embeddedIPv4(address: Address): IPv4 | undefined {
  if (!(address instanceof IPv6)) {
    return undefined;
  }
  const bytes = address.toByteArray();
  if (address.match(SIX_TO_FOUR, 16)) {
    return new IPv4(bytes.slice(2, 6));
  }
  return address.match(MAPPED, 96) || address.match(NAT64, 96) ? new IPv4(bytes.slice(12)) : undefined;
}

const MAPPED = IPv6.parse('::ffff:0:0');
const NAT64 = IPv6.parse('64:ff9b::');
const SIX_TO_FOUR = IPv6.parse('2002::');
