import type { AddressReason } from './reasons';

/** The "last updated" date of the IANA registries that both tables follow. */
export const registriesAsOf = '2025-10-09';

/** What a profile says of a block: reachable, refused for a named reason, or as reachable as the IPv4 address inside. */
export type BlockVerdict = 'allowed' | 'embedded-ipv4' | AddressReason;

/** One row of the address table. */
export interface Block {
  /** CIDR notation, as the registry writes it. */
  block: string;
  name: string;
  /** The document that reserves the block. */
  source: string;
  /** When the registry allocated it, YYYY-MM; a dash where it gives no date. */
  allocated: string;
  /** Follows the registry's "Globally Reachable" column: False, N/A and blank all refuse. */
  registry: BlockVerdict;
  /** Refuses, too, what is reachable on paper but is no place for a receiver. */
  strict: BlockVerdict;
}

/** Reachable in neither profile. */
export function refused(
  block: string,
  name: string,
  source: string,
  allocated: string,
  reason: AddressReason,
): Readonly<Block> {
  return { block, name, source, allocated, registry: reason, strict: reason };
}

/** Globally reachable by the registry; the strict profile refuses it for the reason given. */
export function reachable(
  block: string,
  name: string,
  source: string,
  allocated: string,
  strictReason: AddressReason,
): Readonly<Block> {
  return { block, name, source, allocated, registry: 'allowed', strict: strictReason };
}

/** A translation range: judged by the IPv4 address that it carries; the strict profile refuses it for the reason given. */
export function translated(
  block: string,
  name: string,
  source: string,
  allocated: string,
  strictReason: AddressReason,
): Readonly<Block> {
  return { block, name, source, allocated, registry: 'embedded-ipv4', strict: strictReason };
}

/** Ordinary unicast space, in both profiles. */
export function unicast(block: string, name: string, source: string, allocated: string): Readonly<Block> {
  return { block, name, source, allocated, registry: 'allowed', strict: 'allowed' };
}
