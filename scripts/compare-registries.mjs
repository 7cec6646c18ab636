// Compares the address table with the IANA Special-Purpose Address Registries, given as the two CSV files that IANA
// publishes: node scripts/compare-registries.mjs <ipv4.csv> <ipv6.csv>. Exits with 1 where they differ.
import { readFileSync } from 'node:fs';

const files = process.argv.slice(2);
if (files.length !== 2) {
  console.error('Name the two CSV files: node scripts/compare-registries.mjs <ipv4.csv> <ipv6.csv>');
  process.exit(2);
}

/** RFC 4180 cells, line breaks within quotes included. */
function readCsv(text) {
  const rows = [[]];
  for (const [, separator, quoted, plain] of text.matchAll(/(^|,|\r?\n)(?:"((?:[^"]|"")*)"|([^,\r\n]*))/g)) {
    if (separator.endsWith('\n')) rows.push([]);
    rows.at(-1).push(quoted?.replaceAll('""', '"') ?? plain);
  }
  return rows.slice(1).filter((row) => row.length > 1);
}

const column = { blocks: 0, name: 1, reachable: 8 };
const registries = new Map();
for (const file of files) {
  for (const row of readCsv(readFileSync(file, 'utf8'))) {
    // One cell may hold two blocks, and any cell a footnote mark.
    for (const block of row[column.blocks].replace(/\[\d+\]/g, '').split(',')) {
      registries.set(block.trim(), { name: row[column.name], reachable: /^True\b/.test(row[column.reachable] ?? '') });
    }
  }
}

// The generated document stands for the table: a test keeps the two equal, and so this needs no build.
const document = readFileSync(new URL('../docs/generated/address-table.md', import.meta.url), 'utf8');
const table = new Map();
for (const [, block, name, date, verdict] of document.matchAll(
  /^\| `([^`]+)` \| (.*?) \| .*? \| (.*?) \| (.*?) \|/gm,
)) {
  if (date !== '—') table.set(block, { name, verdict });
}

const state = (reachable) => (reachable ? 'globally reachable' : 'not globally reachable');
const found = [];
for (const [block, { name, reachable }] of registries) {
  if (!table.has(block)) found.push(`new in a registry: ${block} (${name}), ${state(reachable)}`);
}
for (const [block, { name }] of table) {
  if (!registries.has(block)) found.push(`gone from the registries: ${block} (${name})`);
}
for (const [block, { verdict }] of table) {
  const row = registries.get(block);
  // Translation ranges are judged by the address inside, whatever their own row says.
  if (row && !verdict.startsWith('as the IPv4') && row.reachable !== (verdict === 'allowed')) {
    found.push(`changed: ${block} is ${state(row.reachable)} by the registry, and ${verdict} by the table`);
  }
}

console.log(
  found.length > 0
    ? found.join('\n')
    : `The table has all ${table.size} blocks of the registries, with the same reachability.`,
);
process.exitCode = found.length > 0 ? 1 : 0;
