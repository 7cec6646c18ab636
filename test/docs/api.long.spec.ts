import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(__dirname, '../..');

test('the reference of the API is made from what stands in the code, and nothing in it names what is not there', () => {
  const { status, stdout, stderr } = spawnSync('npm', ['run', '--silent', 'docs:api'], { cwd: root, encoding: 'utf8' });
  expect({ status, said: stdout + stderr }).toMatchObject({ status: 0 });
  expect(existsSync(join(root, '.data/api/index.html'))).toBe(true);
}, 180_000);
