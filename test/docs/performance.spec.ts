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
