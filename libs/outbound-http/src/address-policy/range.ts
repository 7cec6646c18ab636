import { parseCIDR } from 'ipaddr.js';
import { readAddress, type Address } from './address';

/** A parsed CIDR range. */
export interface Range {
  network: Address;
  bits: number;
}

/**
 * Parses an operator's range: CIDR notation with a canonical address, whose host bits are zero, or a bare address for
 * itself alone. Answers undefined for anything else: `10.1.2.3/8` is more often a slip than an intention.
 */
export function readRange(text: string): Range | undefined {
  const [address, prefix, ...rest] = text.split('/') as [string, ...string[]];
  const network = readAddress(address);
  if (!network || rest.length > 0) {
    return undefined;
  }
  const width = network.kind() === 'ipv4' ? 32 : 128;
  if (prefix === undefined) {
    return { network, bits: width };
  }
  const bits = /^(0|[1-9]\d{0,2})$/.test(prefix) ? Number(prefix) : Infinity;
  if (bits > width || !hostBitsAreZero(network, bits)) {
    return undefined;
  }
  return { network, bits };
}

/** Whether any of the ranges holds the address. Families never match each other. */
export function holds(ranges: readonly Range[], address: Address): boolean {
  return ranges.some((range) => range.network.kind() === address.kind() && address.match(range.network, range.bits));
}

/** Whether the two ranges share an address: of two prefixes, the longer lies in the shorter or outside it. */
export function overlap(a: Range, b: Range): boolean {
  return a.network.kind() === b.network.kind() && a.network.match(b.network, Math.min(a.bits, b.bits));
}

function hostBitsAreZero(network: Address, bits: number): boolean {
  return network.toByteArray().every((byte, index) => {
    const kept = Math.min(8, Math.max(0, bits - index * 8));
    return (byte & (0xff >> kept)) === 0;
  });
}

const places = [
  ['0.0.0.0/8', 'this host'],
  ['169.254.0.0/16', 'link-local space, where clouds serve credentials'],
  ['100.100.100.200/32', 'a cloud metadata service'],
  ['168.63.129.16/32', 'a cloud host agent'],
  ['192.0.0.192/32', 'a cloud metadata service'],
  ['224.0.0.0/4', 'multicast'],
  ['255.255.255.255/32', 'broadcast'],
  ['::/128', 'this host'],
  ['fe80::/10', 'link-local space'],
  ['fd00:ec2::254/128', 'a cloud metadata service'],
  ['fd20:ce::254/128', 'a cloud metadata service'],
  ['ff00::/8', 'multicast'],
] as const;

/**
 * What no `allow` range may touch, however much an operator trusts the network: the places where clouds hand out
 * credentials to whatever runs on the machine, and what is no single host at all.
 */
export const neverAllowed: readonly { range: Range; what: string }[] = places.map(([block, what]) => {
  const [network, bits] = parseCIDR(block);
  return { range: { network, bits }, what };
});
