import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import longOnes from './long-ones.cjs';

const tests = dirname(__dirname);

it('the long run takes what is long, and what does more there, however it asks; nothing else', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nest-deliveries-long-'));
  const files = {
    'long.long.spec.ts': '',
    'asks.spec.ts': 'const runs = process.env.TEST_LONG ? 100 : 10;',
    'takes.spec.ts': 'const { TEST_LONG } = process.env;',
    'short.spec.ts': '// What is slow is in npm run test:long.',
  };
  const paths = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  const { filtered } = longOnes(paths);
  rmSync(folder, { recursive: true });
  expect(filtered.map((path) => basename(path))).toEqual(['long.long.spec.ts', 'asks.spec.ts', 'takes.spec.ts']);
});

it('only files of tests ask whether the run is long: the long run would not know who uses another that does', () => {
  const others = readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.ts') && !path.endsWith('.spec.ts'),
  );
  expect(others.length).toBeGreaterThan(100);
  expect(others.filter((path) => readFileSync(join(tests, path), 'utf8').includes('TEST_LONG'))).toEqual([]);
});
