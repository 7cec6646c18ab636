import { IPv4, parseCIDR } from 'ipaddr.js';
import { embeddedIPv4, readAddress, type Address } from './address';
import type { Block, BlockVerdict } from './block';
import { ipv4Table } from './ipv4-table';
import { ipv6Table } from './ipv6-table';
import { holds, type Range } from './range';
import type { AddressReason, Verdict } from './reasons';

/**
 * `registry`: what the IANA registries call globally reachable. `strict` refuses, beyond that, every translation and
 * transition range, anycast services, AS112, AMT, ORCHIDv2, drone identifiers and everything outside 2000::/3.
 */
export type Profile = 'registry' | 'strict';

/** What addresses are judged by. `deny` wins over `allow`, and both win over the profile. */
export interface AddressRules {
  profile: Profile;
  deny: readonly Range[];
  allow: readonly Range[];
}

/** Judges one address literal by a profile alone, without an operator's ranges. Pure: no look-up, no clock. */
export function classifyAddress(address: string, options: { profile: Profile }): Verdict {
  return judgeAddress(address, { profile: options.profile, deny: [], allow: [] });
}

/** Judges one address literal, as written in a URL or answered by a resolver. */
export function judgeAddress(text: string, rules: AddressRules): { allowed: true } | Refused {
  const address = readAddress(text);
  if (!address) {
    return { allowed: false, reason: text.includes('%') ? 'zone-id' : 'not-an-address' };
  }
  const inner = embeddedIPv4(address);
  // A denied IPv4 address stays denied when it is reached through a translator.
  if (holds(rules.deny, address) || (inner && holds(rules.deny, inner))) {
    return { allowed: false, reason: 'denied-by-operator' };
  }
  if (holds(rules.allow, address)) {
    return { allowed: true };
  }
  const verdict = lookUp(address, rules.profile);
  const decided = verdict === 'embedded-ipv4' && inner ? lookUp(inner, rules.profile) : verdict;
  if (decided === 'allowed') {
    return { allowed: true };
  }
  return { allowed: false, reason: decided === 'embedded-ipv4' ? 'reserved' : decided };
}

interface Refused {
  allowed: false;
  reason: AddressReason;
}

interface Row extends Range {
  registry: BlockVerdict;
  strict: BlockVerdict;
}

function lookUp(address: Address, profile: Profile): BlockVerdict {
  const row = (address instanceof IPv4 ? ipv4Rows : ipv6Rows).find((range) => address.match(range.network, range.bits));
  // Both tables end with a row that holds everything; should one ever not, nothing is allowed.
  return row?.[profile] ?? 'reserved';
}

function longestPrefixFirst(table: readonly Block[]): Row[] {
  const rows = table.map(({ block, registry, strict }) => {
    const [network, bits] = parseCIDR(block);
    return { network, bits, registry, strict };
  });
  return rows.toSorted((a, b) => b.bits - a.bits);
}

const ipv4Rows = longestPrefixFirst(ipv4Table);
const ipv6Rows = longestPrefixFirst(ipv6Table);
