import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { extras, goals } from '../bench/goals';
import { page } from '../bench/report/page';
import { picturesOf } from '../bench/report/pictures';
import type { Result } from '../bench/report/result';

const folder = resolve(__dirname, '../../docs');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const result = JSON.parse(read('performance/result.json')) as Result;
const pictures = picturesOf(result);

/** Without what the formatter decides: the width of a table's columns. */
const words = (text: string): string => text.replaceAll(/-{3,}/g, '---').replaceAll(/\s+/g, ' ');

test('the page on performance says what the bench found, and nothing else', () => {
  expect(words(read('performance.md'))).toBe(words(page(result, pictures)));
});

test('its pictures show what the bench found', () => {
  const drawn = Object.fromEntries(pictures.map(({ file, content }) => [`${file}.svg`, content]));
  const files = readdirSync(join(folder, 'performance')).filter((name) => name.endsWith('.svg'));
  expect(Object.fromEntries(files.map((name) => [name, read(`performance/${name}`)]))).toEqual(drawn);
});

test('every ratio on it says what it is', () => {
  const names = Object.keys(result.ratios);
  expect(names.filter((name) => !(name in goals || name in extras))).toEqual([]);
});

/** The rows of the table of sizes in docs/scale.md, and the measurements that they round. */
const sizes: Readonly<Record<string, readonly [what: string, contender: string, figure: string]>> = {
  'Deliveries of one channel sent by one process, where a send takes no time': ['drain of 40,000', 'ours', 'rate'],
  'CPU time of Node for each': ['drain of 40,000', 'ours', 'Node µs each'],
  'CPU time of PostgreSQL for each': ['drain of 40,000', 'ours', 'PostgreSQL µs each'],
  'Transactions that record one delivery, from 8 clients': ['record, 8 clients', 'ours', 'rate'],
  'Deliveries recorded in calls of a thousand': ['record of 100,000 in calls of 1,000', 'ours', 'rate'],
  'Deliveries of one fan-out by `draftsFrom`': ['fan-out to 100,000 recipients', 'ours', 'rate'],
  'Ordered deliveries, 10,000 keys': ['ordered, 10,000 keys', 'ours', 'rate'],
  'Ordered deliveries, all of one key': ['ordered, 1 key', 'ours', 'rate'],
  'Deliveries over 200 lanes': ['drain of 40,000 over 200 lanes', 'ours', 'rate'],
  'HTTPS requests of `OutboundHttp`, connections kept': ['https, kept alive', 'OutboundHttp', 'rate'],
  'HTTPS requests of `OutboundHttp`, a new connection each': ['https, new connections', 'OutboundHttp', 'rate'],
  'From a commit to the handler in another process, median': ['commit to handler, 20/s, two processes', 'ours', 'p50'],
  'What a replica with five channels and nothing to do asks of PostgreSQL': [
    'idle, five queues',
    'ours',
    'transactions',
  ],
};

test('the sizes in docs/scale.md are those that the bench found, to a factor of three', () => {
  const part = read('scale.md').split('<!-- sizing:begin -->')[1]!.split('<!-- sizing:end -->')[0]!;
  const rows = [...part.matchAll(/^\| (.+?) +\| ([\d,.]+) (\S+) +\|$/gm)];
  expect(rows.map(([, what]) => what)).toEqual(Object.keys(sizes));
  for (const [, what, about] of rows) {
    const [measured, contender, figure] = sizes[what!]!;
    const found = result.measured.find(
      (each) => each.what === measured && each.contender === contender && each.figure === figure,
    );
    const times = Number(about!.replaceAll(',', '')) / (found?.median ?? Number.NaN);
    expect({ what, near: times > 1 / 3 && times < 3 }).toEqual({ what, near: true });
  }
});
