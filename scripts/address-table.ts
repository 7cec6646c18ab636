import { registriesAsOf, type Block, type BlockVerdict } from '../libs/outbound-http/src/address-policy/block';
import { ipv4Table } from '../libs/outbound-http/src/address-policy/ipv4-table';
import { ipv6Table } from '../libs/outbound-http/src/address-policy/ipv6-table';

/** The document that lists every block of the address table; a test keeps the committed file equal to it. */
export function addressTableDocument(): string {
  return `# The address table of OutboundHttp

Written by \`npm run docs:address-table\` from \`libs/outbound-http/src/address-policy/ipv4-table.ts\` and
\`libs/outbound-http/src/address-policy/ipv6-table.ts\`; change those, not this file. It follows the IANA IPv4 and IPv6
Special-Purpose Address Registries as last updated on ${registriesAsOf}, and the IANA IPv6 Address Space. The longest
prefix that holds an address decides. A date is the registry's allocation date; a dash means that the block is in none
of the two registries.

## IPv4

${table(ipv4Table)}

## IPv6

${table(ipv6Table)}
`;
}

function table(blocks: readonly Block[]): string {
  const rows = blocks.map(({ block, name, source, allocated, registry, strict }) =>
    row([`\`${block}\``, name, source, allocated, verdict(registry), verdict(strict)]),
  );
  return [
    row(['Block', 'Name', 'Source', 'Date', 'Profile `registry`', 'Profile `strict`']),
    row(Array.from({ length: 6 }, () => '---')),
    ...rows,
  ].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

function verdict(of: BlockVerdict): string {
  switch (of) {
    case 'allowed':
      return 'allowed';
    case 'embedded-ipv4':
      return 'as the IPv4 address inside';
    default:
      return `refused: \`${of}\``;
  }
}
