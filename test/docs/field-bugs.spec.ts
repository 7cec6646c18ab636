import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const folder = resolve(__dirname, '../field');
const rows = readFileSync(join(folder, 'README.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| BL-'))
  .map((line) => ({
    id: /BL-\d{3}/.exec(line)![0],
    files: [...line.matchAll(/\]\(([^)]+)\)/g)].map((match) => resolve(folder, match[1]!)),
  }));

test.each(rows)('$id is played where the list of field bugs says', ({ id, files }) => {
  expect(files).not.toEqual([]);
  // In the name of a test, not in a comment.
  const named = new RegExp(`\\b(?:it|test|describe)\\b[^;]*?'[^'\\n]*${id}[^'\\n]*'`);
  for (const file of files) expect(readFileSync(file, 'utf8')).toMatch(named);
});

test('the list of field bugs is in order and leaves none out', () => {
  const ids = rows.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].toSorted());
  const specs = readdirSync(folder).filter((name) => name.endsWith('.spec.ts'));
  const listed = new Set(rows.flatMap(({ files }) => files));
  expect(specs.filter((name) => !listed.has(join(folder, name)))).toEqual([]);
});
