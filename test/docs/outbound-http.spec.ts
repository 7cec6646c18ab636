import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { addressTableDocument } from '../../scripts/address-table';
import { optionNames } from '../../libs/outbound-http/src/options/read-options';
import { ipv4Table } from '../../libs/outbound-http/src/address-policy/ipv4-table';
import { ipv6Table } from '../../libs/outbound-http/src/address-policy/ipv6-table';
import type { Block } from '../../libs/outbound-http/src/address-policy/block';

const root = resolve(__dirname, '../..');
const document = join(root, 'docs/generated/address-table.md');

test('the document of the address table is what the table says', () => {
  if (process.env.WRITE_DOCS) {
    writeFileSync(document, addressTableDocument());
  }
  // Out of date? `npm run docs:address-table` writes it anew.
  expect(readFileSync(document, 'utf8')).toBe(addressTableDocument());
});

test('the options table of OutboundHttp names every option', () => {
  const page = readFileSync(join(root, 'docs/outbound-http.md'), 'utf8');
  const part = page.split('<!-- options:begin -->')[1]?.split('<!-- options:end -->')[0] ?? '';
  expect([...part.matchAll(/^\| `([^`]+)`/gm)].map((match) => match[1])).toEqual([...optionNames]);
});

describe('the comparison with the registries', () => {
  const folder = mkdtempSync(join(tmpdir(), 'registries-'));
  const files = [join(folder, 'ipv4.csv'), join(folder, 'ipv6.csv')];

  afterAll(() => rmSync(folder, { recursive: true }));

  /** The registries' own form: quoted cells, footnote marks, two blocks in a cell, blanks for what has ended. */
  function csv(table: readonly Block[]): string {
    const rows = table
      .filter(({ allocated }) => allocated !== '—')
      .map(({ block, name, registry, allocated }) => {
        const ended = name.startsWith('Deprecated');
        const reachable = registry === 'allowed' || block === '64:ff9b::/96';
        const flags = ended ? ',,,,' : `True,True,True,${reachable ? 'True' : 'False [4]'},False`;
        return `"${block} [1]","${name}, so called","[RFC1]\n        [RFC2]",${allocated},N/A,${flags}`;
      });
    const header =
      'Address Block,Name,RFC,Allocation Date,Termination Date,Source,Destination,Forwardable,Globally Reachable,Reserved-by-Protocol';
    return [header, ...rows, ''].join('\r\n');
  }

  function compare(ipv4: string, ipv6: string): { status: number | null; output: string } {
    [ipv4, ipv6].forEach((text, index) => writeFileSync(files[index] ?? '', text));
    const { status, stdout } = spawnSync(process.execPath, [join(root, 'scripts/compare-registries.mjs'), ...files], {
      encoding: 'utf8',
    });
    return { status, output: stdout };
  }

  it('finds nothing where nothing differs', () => {
    expect(compare(csv(ipv4Table), csv(ipv6Table))).toEqual({
      status: 0,
      output: 'The table has all 51 blocks of the registries, with the same reachability.\n',
    });
  });

  it('names what was added, what has gone, and what changed its reachability', () => {
    const ipv4 = csv(ipv4Table)
      .replace('"10.0.0.0/8 [1]"', '"10.0.0.0/8, 11.0.0.0/8 [1]"')
      .replace(/(31\.196\.0\/24[^]*?True,True,True,)True/, '$1False');
    const ipv6 = csv(ipv6Table).replace(/"5f00::\/16[^]*?False\r\n/, '');
    expect(compare(ipv4, ipv6)).toEqual({
      status: 1,
      output: [
        'new in a registry: 11.0.0.0/8 (Private-Use, so called), not globally reachable',
        'gone from the registries: 5f00::/16 (Segment Routing (SRv6) SIDs)',
        'changed: 192.31.196.0/24 is not globally reachable by the registry, and allowed by the table',
        '',
      ].join('\n'),
    });
  });
});
