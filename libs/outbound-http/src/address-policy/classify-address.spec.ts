import { IPv4, IPv6, parse, parseCIDR } from 'ipaddr.js';
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

/**
 * Where each stretch of the address space begins, and what becomes of it by the registry and under strict: the same twice where one
 * word stands, an asterisk for what depends on the IPv4 address inside. Read from the registries, not from the table.
 */
const stretches = {
  ipv4: `
    0.0.0.0 unspecified · 0.0.0.1 this-network · 1.0.0.0 allowed · 10.0.0.0 private · 11.0.0.0 allowed
    100.64.0.0 shared · 100.128.0.0 allowed · 127.0.0.0 loopback · 128.0.0.0 allowed
    168.63.129.16 cloud-host-agent · 168.63.129.17 allowed · 169.254.0.0 link-local · 169.255.0.0 allowed
    172.16.0.0 private · 172.32.0.0 allowed
    192.0.0.0 protocol-assignments · 192.0.0.8 dummy · 192.0.0.9 allowed anycast · 192.0.0.11 protocol-assignments
    192.0.0.170 nat64-discovery · 192.0.0.172 protocol-assignments · 192.0.1.0 allowed
    192.0.2.0 documentation · 192.0.3.0 allowed · 192.31.196.0 allowed as112 · 192.31.197.0 allowed
    192.52.193.0 allowed amt · 192.52.194.0 allowed · 192.88.99.0 6to4-relay · 192.88.100.0 allowed
    192.168.0.0 private · 192.169.0.0 allowed · 192.175.48.0 allowed as112 · 192.175.49.0 allowed
    198.18.0.0 benchmarking · 198.20.0.0 allowed · 198.51.100.0 documentation · 198.51.101.0 allowed
    203.0.113.0 documentation · 203.0.114.0 allowed
    224.0.0.0 multicast · 240.0.0.0 reserved · 255.255.255.255 broadcast`,
  ipv6: `
    :: unspecified · ::1 loopback · ::2 ipv4-compatible · ::1:0:0 reserved
    ::ffff:0:0 * ipv4-mapped · ::1:0:0:0 reserved · ::ffff:0:0:0 ipv4-translated · ::ffff:1:0:0 reserved
    64:ff9b:: * nat64 · 64:ff9b::1:0:0 reserved · 64:ff9b:1:: nat64-local · 64:ff9b:2:: reserved
    100:: discard · 100:0:0:1:: dummy · 100:0:0:2:: reserved · 2000:: allowed
    2001:: teredo · 2001:1:: protocol-assignments · 2001:1::1 allowed anycast · 2001:1::4 protocol-assignments
    2001:2:: benchmarking · 2001:2:1:: protocol-assignments · 2001:3:: allowed amt · 2001:4:: protocol-assignments
    2001:4:112:: allowed as112 · 2001:4:113:: protocol-assignments · 2001:10:: orchid · 2001:20:: allowed orchid
    2001:30:: allowed drone-ids · 2001:40:: protocol-assignments · 2001:200:: allowed
    2001:db8:: documentation · 2001:db9:: allowed · 2002:: * 6to4 · 2003:: allowed
    2620:4f:8000:: allowed as112 · 2620:4f:8001:: allowed · 3fff:: documentation · 3fff:1000:: allowed
    4000:: reserved · 5f00:: srv6-sids · 5f01:: reserved
    fc00:: unique-local · fe00:: reserved · fe80:: link-local · fec0:: site-local · ff00:: multicast`,
};

it.each(Object.entries(stretches))('every stretch of %s begins and ends where the registries say', (family, text) => {
  const parsed = text.split(/[·\n]/).flatMap((words) => {
    const [start, byRegistry, underStrict] = words.trim().split(/ +/);
    return byRegistry === undefined
      ? []
      : [{ start: parse(start!), byRegistry, underStrict: underStrict ?? byRegistry }];
  });
  const verdictOn = (address: string, profile: 'registry' | 'strict'): string => {
    const verdict = classifyAddress(address, { profile });
    return verdict.allowed ? 'allowed' : verdict.reason;
  };
  for (const [index, { start, byRegistry, underStrict }] of parsed.entries()) {
    const next = parsed[index + 1];
    const last = next ? before(next.start.toByteArray()) : start.toByteArray().map(() => 0xff);
    for (const address of [start, family === 'ipv4' ? new IPv4(last) : new IPv6(last)].map(String)) {
      expect([address, verdictOn(address, 'strict')]).toEqual([address, underStrict]);
      const found = byRegistry === '*' ? '*' : verdictOn(address, 'registry');
      expect([address, found]).toEqual([address, byRegistry]);
    }
  }
  expect(parsed.length).toBe(family === 'ipv4' ? 43 : 47);
});

/** The address before this one. */
function before(bytes: number[]): number[] {
  const place = bytes.findLastIndex((byte) => byte > 0);
  return bytes.map((byte, index) => (index < place ? byte : index === place ? byte - 1 : 0xff));
}

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

  it('are ranges only in canonical form, with host bits that are zero', () => {
    const ranges = ['10.0.0.0/8', '10.1.2.3', '10.1.2.3/32', '0.0.0.0/0', 'fd00::/64', '::/128'];
    expect(ranges.filter((text) => readRange(text) === undefined)).toEqual([]);
    const none = ['10.1.2.3/8', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/x', '10.0.0.0/', '10.0.0.0/8/8', '10/8', ''];
    expect([...none, 'fd00::/129', 'fd00::1/64', '::ffff:0:0/95'].filter((text) => readRange(text))).toEqual([]);
  });

  it('do not open an internal address to translators', () => {
    expect(judgeAddress('64:ff9b::a01:203', rules([], ['10.1.2.3/32']))).toEqual({ allowed: false, reason: 'private' });
  });
});

function lastOf(bytes: number[], bits: number): number[] {
  return bytes.map((byte, index) => byte | (0xff >> Math.min(8, Math.max(0, bits - index * 8))));
}
