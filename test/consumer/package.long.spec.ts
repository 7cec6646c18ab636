import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import packageJson from '../../package.json';
import { nest12, oldest } from './support/combinations';
import { installNode } from './support/install-node';
import { makeApplication } from './support/make-application';
import { packPackage, type Tarball } from './support/tarball';
import { useApplication, whatIsSeen } from './support/use-application';

let folder: string;
let tarball: Tarball;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nest-deliveries-consumers-'));
  tarball = await packPackage(folder);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const combinations = [nest12('commonjs'), nest12('esm'), oldest];

test.each(combinations)(
  '$name is made by somebody else, and delivers',
  async (combination) => {
    const application = join(folder, combination.name);
    await makeApplication(application, tarball.path, combination);
    expect(await useApplication(application)).toMatchObject(whatIsSeen);
  },
  300_000,
);

test('every door opens with each peer at the lowest version that is enough', () => {
  const names = Object.keys(packageJson.exports).map((door) => join(packageJson.name, door));
  const program = names.map((name) => `require('${name}');`).join('');
  const cwd = join(folder, oldest.name);
  expect(execFileSync(process.execPath, ['-e', program], { cwd, encoding: 'utf8' })).toBe('');
});

// After the installations above: what is tried is the program, which is the same.
test.each(['22', '24'])(
  'each of them delivers on Node %s',
  async (major) => {
    const node = await installNode(join(folder, `node-${major}`), major);
    for (const { name } of combinations) {
      expect([name, await useApplication(join(folder, name), node)]).toMatchObject([name, whatIsSeen]);
    }
  },
  300_000,
);
