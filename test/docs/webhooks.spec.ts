import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '../..');
const page = readFileSync(join(root, 'docs/webhooks.md'), 'utf8');

/** The rows of the tables behind the heading: a rule, and the tests that hold it. */
const rows = page
  .split('## What holds, and the test that says so')[1]!
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| Rule ') && !line.startsWith('| --'))
  .map((line) => {
    const [, rule, tests] = line.split('|').map((cell) => cell.trim());
    return { rule: rule!, tests: tests!.split('; ').map(referenceOf) };
  });

function referenceOf(text: string): { file: string; words: string } {
  const [, file, words] = /^\[[\w-]+\]\(\.\.\/(\S+\.spec\.ts)\) › (\S.*)$/.exec(text) ?? [];
  if (file === undefined || words === undefined) throw new Error(`docs/webhooks.md: "${text}" is no file › test.`);
  return { file, words };
}

test('the tables of what holds for webhooks have rows', () => expect(rows.length).toBeGreaterThan(60));

test.each(rows)('$rule: its tests are there', ({ tests }) => {
  const missing = tests.filter(({ file, words }) => {
    const source = readFileSync(join(root, file), 'utf8');
    // The first argument of a call: a test's name, or that of a group of tests.
    return !new RegExp(`\\(\\s*'${words.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')}`).test(source);
  });
  expect(missing).toEqual([]);
});

test('every file of tests of webhooks holds one of the rules', () => {
  const named = new Set(rows.flatMap(({ tests }) => tests.map(({ file }) => file)));
  const files = readdirSync(join(root, 'test/webhooks')).filter((name) => name.endsWith('.spec.ts'));
  expect(files.map((name) => `test/webhooks/${name}`).filter((file) => !named.has(file))).toEqual([]);
});
