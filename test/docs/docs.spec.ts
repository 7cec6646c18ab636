import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { optionDefaults } from 'nest-deliveries';
import { channelSettingNames } from '../../libs/deliveries/src/deliveries.options';
import packageJson from '../../package.json';

const root = resolve(__dirname, '../..');
const pages = ['.', 'docs', 'libs'].flatMap((folder) => markdownIn(folder));

function markdownIn(folder: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: folder !== '.' }) as string[];
  return entries
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .map((name) => join(folder, name));
}

const read = (page: string): string => readFileSync(join(root, page), 'utf8');

/** Cells of the rows of the table between two markers, backticks and markup stripped off the first. */
function table(page: string, marker: string): string[][] {
  const text = read(page);
  const part = text.split(`<!-- ${marker}:begin -->`)[1]?.split(`<!-- ${marker}:end -->`)[0];
  if (!part) throw new Error(`${page} has no table "${marker}"`);
  const rows = part.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

test('there are pages to check', () => {
  expect(pages).toEqual(expect.arrayContaining(['README.md', 'CHANGELOG.md', 'docs/options.md']));
});

test.each(pages)('every file that %s links to or names is there', (page) => {
  const text = read(page);
  const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g)].map((match) =>
    resolve(root, dirname(page), match[1]!),
  );
  // `libs/…`, `src/…` and so on in code spans, as the newcomer's map has them; a placeholder or a pattern is no name.
  const named = [...text.matchAll(/`((?:libs|src|test|migrations|templates|docs|scripts|\.ci)\/[^`\s<>*{}…]+)`/g)];
  const files = [...links, ...named.map((match) => resolve(root, match[1]!))];
  expect(files.filter((file) => !existsSync(file))).toEqual([]);
});

test.each(pages)('every npm script that %s names exists', (page) => {
  const scripts = [...read(page).matchAll(/npm run (?:--silent )?([a-z][a-z:-]*)/g)].map((match) => match[1]!);
  expect(scripts.filter((name) => !(name in packageJson.scripts))).toEqual([]);
});

test('the options table says what the code does', () => {
  const documented = table('docs/options.md', 'options').map(([name, value]) => [name!.replaceAll('`', ''), value]);
  const code = Object.entries(optionDefaults).map(([name, value]) => [name, value]);
  const plain = (rows: (string | undefined)[][]): unknown =>
    rows.map(([name, value]) => [name, value!.replaceAll('`', '')]);
  expect(plain(documented)).toEqual(plain(code));
});

test('the table of channel settings names all of them', () => {
  const documented = table('docs/options.md', 'channel-settings').map(([name]) => name!.replaceAll('`', ''));
  expect(documented).toEqual([...channelSettingNames]);
});

test('the README’s map answers each question with a file', () => {
  const rows = table('README.md', 'map');
  expect(rows.length).toBeGreaterThanOrEqual(6);
  for (const row of rows) expect(row[1]).toMatch(/\]\([^)]+\)/);
});

test('CI runs the test command that stands on the README’s first screen, and nothing else', () => {
  const firstScreen = read('README.md').split('\n').slice(0, 40).join('\n');
  expect(firstScreen).toContain('npm ci && npm run demo');
  expect(firstScreen).toContain('npm ci && npm test');
  const commands = read('.ci/run')
    .split('\n')
    .filter((line) => line && !line.startsWith('#') && !/^(set|cd) /.test(line));
  expect(commands.join(' && ')).toBe('npm ci && npm test');
});
