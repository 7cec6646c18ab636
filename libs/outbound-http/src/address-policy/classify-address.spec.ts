import { IPv4, IPv6, parseCIDR } from 'ipaddr.js';
import { classifyAddress, judgeAddress } from './classify-address';
import { ipv4Table } from './ipv4-table';
import { ipv6Table } from './ipv6-table';
import { readRange, type Range } from './range';

function range(text: string): Range {
  const parsed = readRange(text);
  if (!parsed) {
    throw new Error(`${text} is no range`);
  }
  return parsed;
}

const registry = { profile: 'registry' } as const;
const strict = { profile: 'strict' } as const;

describe('classifyAddress', () => {
  it.each([
    ['10.1.2.3', 'private'],
    ['127.0.0.1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['169.254.169.254', 'link-local'],
    ['100.64.0.1', 'shared'],
    ['168.63.129.16', 'cloud-host-agent'],
    ['224.0.0.1', 'multicast'],
    ['255.255.255.255', 'broadcast'],
    ['240.0.0.1', 'reserved'],
    ['::ffff:10.1.2.3', 'private'],
    ['64:ff9b::7f00:1', 'loopback'],
    ['2002:a9fe:a9fe::1', 'link-local'],
    ['64:ff9b:1::8.8.8.8', 'nat64-local'],
    ['fd00::1', 'unique-local'],
    ['fe80::1', 'link-local'],
    ['fec0::1', 'site-local'],
    ['fe80::1%eth0', 'zone-id'],
    ['2606:4700:4700::1111%eth0', 'zone-id'],
    ['0177.0.0.1', 'not-an-address'],
    ['[::1]', 'not-an-address'],
  ])('refuses %s as %s', (address, reason) => {
    expect(classifyAddress(address, registry)).toEqual({ allowed: false, reason });
  });

  it.each([
    ['::ffff:8.8.8.8', 'ipv4-mapped'],
    ['64:ff9b::8.8.8.8', 'nat64'],
    ['2002:808:808::1', '6to4'],
    ['192.0.0.9', 'anycast'],
    ['192.31.196.1', 'as112'],
    ['192.52.193.1', 'amt'],
    ['2001:20::1', 'orchid'],
    ['2001:30::1', 'drone-ids'],
  ])('lets %s pass by the registry and refuses it under strict as %s', (address, reason) => {
    expect(classifyAddress(address, registry)).toEqual({ allowed: true });
    expect(classifyAddress(address, strict)).toEqual({ allowed: false, reason });
  });

  it('lets public unicast pass in both profiles', () => {
    for (const address of ['8.8.8.8', '2606:4700:4700::1111', '2606:4700:4700:0:0:0:0:1111']) {
      expect(classifyAddress(address, registry)).toEqual({ allowed: true });
      expect(classifyAddress(address, strict)).toEqual({ allowed: true });
    }
  });
});

describe('the address table', () => {
  const rows = [...ipv4Table, ...ipv6Table];

  it('names every block once, in canonical form', () => {
    expect(new Set(rows.map(({ block }) => block)).size).toBe(rows.length);
    for (const { block } of rows) {
      expect(readRange(block)).toBeDefined();
    }
  });

  it('decides by the longest prefix at both ends of every block', () => {
    const tables = [
      { table: ipv4Table, width: 32 },
      { table: ipv6Table, width: 128 },
    ];
    for (const { table, width } of tables) {
      for (const { block } of table) {
        const [network, bits] = parseCIDR(block);
        for (const bytes of [network.toByteArray(), lastOf(network.toByteArray(), bits)]) {
          const address = width === 32 ? new IPv4(bytes) : new IPv6(bytes);
          const expected = table
            .filter((row) => address.match(parseCIDR(row.block)))
            .reduce((best, row) => (parseCIDR(row.block)[1] > parseCIDR(best.block)[1] ? row : best));
          if (expected.strict === 'embedded-ipv4' || expected.registry === 'embedded-ipv4') {
            continue;
          }
          for (const profile of ['registry', 'strict'] as const) {
            const verdict = classifyAddress(address.toString(), { profile });
            expect([block, verdict.allowed ? 'allowed' : verdict.reason]).toEqual([block, expected[profile]]);
          }
        }
      }
    }
  });

  it('allows nothing under strict that the registry profile refuses', () => {
    for (const { registry: lenient, strict: narrow } of rows) {
      expect(narrow === 'allowed' && lenient !== 'allowed').toBe(false);
    }
  });

  it('has the 25 rows of each registry, one of which names two addresses', () => {
    const dated = (table: typeof ipv4Table): number =>
      table.filter(({ allocated }) => /^\d{4}-\d\d$/.test(allocated)).length;
    expect(dated(ipv4Table)).toBe(26);
    expect(dated(ipv6Table)).toBe(25);
  });
});

describe("an operator's ranges", () => {
  const rules = (deny: string[], allow: string[]) => ({
    profile: 'registry' as const,
    deny: deny.map(range),
    allow: allow.map(range),
  });

  it('allow what the profile refuses, and only that range', () => {
    expect(judgeAddress('10.1.2.3', rules([], ['10.1.2.3/32']))).toEqual({ allowed: true });
    expect(judgeAddress('10.1.2.4', rules([], ['10.1.2.3']))).toEqual({ allowed: false, reason: 'private' });
    expect(judgeAddress('fd00::7', rules([], ['fd00::/64']))).toEqual({ allowed: true });
  });

  it('deny what the profile allows, also behind a translator, and win over allow', () => {
    const denied = { allowed: false, reason: 'denied-by-operator' };
    expect(judgeAddress('8.8.8.8', rules(['8.8.8.0/24'], []))).toEqual(denied);
    expect(judgeAddress('::ffff:8.8.8.8', rules(['8.8.8.0/24'], []))).toEqual(denied);
    expect(judgeAddress('64:ff9b::808:808', rules(['8.8.8.0/24'], []))).toEqual(denied);
    expect(judgeAddress('10.1.2.3', rules(['10.1.2.3/32'], ['10.1.2.0/24']))).toEqual(denied);
  });

  it('do not open an internal address to translators', () => {
    expect(judgeAddress('64:ff9b::a01:203', rules([], ['10.1.2.3/32']))).toEqual({ allowed: false, reason: 'private' });
  });
});

function lastOf(bytes: number[], bits: number): number[] {
  return bytes.map((byte, index) => byte | (0xff >> Math.min(8, Math.max(0, bits - index * 8))));
}
