import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const folder = resolve(__dirname, '../../docs');
const rows = readFileSync(join(folder, 'guarantees.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (?:Rule|-+) /.test(line))
  .map((line): [string, string] => {
    const [rule, tests, ...more] = line.split('|').slice(1, -1);
    if (!rule || !tests || more.length > 0) throw new Error(`This is no row of a rule and its tests: ${line}`);
    return [rule.trim(), tests.trim()];
  });

/** Of `[file](path): name, name; [file](path): name`, with the names as code: each file, and the names of tests in it. */
const testsIn = (cell: string): { file: string; names: string[] }[] =>
  [...cell.matchAll(/\]\(([^)]+)\):((?: `[^`]+`,?)*)/g)].map(([, path, names]) => ({
    file: resolve(folder, path!),
    names: [...names!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
  }));

/** As the first argument of a test or of a group of tests, also of one that is made from a table. */
const declares = (source: string, name: string): boolean => {
  const literal = name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`(?:\\b(?:it|test|describe\\w*)|[)\`])\\(\\s*(['"\`])${literal}\\1,`).test(source);
};

test.each(rows)('%s', (_, cell) => {
  const tests = testsIn(cell);
  expect(tests).not.toEqual([]);
  // Nothing of the cell was overlooked.
  expect(tests.flatMap(({ names }) => names)).toHaveLength((cell.match(/`/g) ?? []).length / 2);
  for (const { file, names } of tests) {
    expect(names).not.toEqual([]);
    const source = readFileSync(file, 'utf8');
    expect(names.filter((name) => !declares(source, name))).toEqual([]);
  }
});

test('no rule stands there twice, and none of the channels’ spec files is left out', () => {
  const rules = rows.map(([rule]) => rule);
  expect(rules).toEqual([...new Set(rules)]);
  const named = new Set(rows.flatMap(([, cell]) => testsIn(cell).map(({ file }) => file)));
  const specs = ['email', 'accounts', 'backchannel-logout'].flatMap((area) => {
    const place = resolve(__dirname, '..', area);
    return readdirSync(place)
      .filter((name) => name.endsWith('.spec.ts'))
      .map((name) => join(place, name));
  });
  expect(specs.filter((file) => !named.has(file))).toEqual([]);
});

test('a name is looked for where tests are declared', () => {
  const source = `it('is there', () => {}); test.each([1])(\n  'also %s there', () => {}); until('is not', () => 1);`;
  expect(['is there', 'also %s there', 'is not', 'is'].map((name) => declares(source, name))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
