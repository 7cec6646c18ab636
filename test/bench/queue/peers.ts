import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The published packages beside which ours is measured. */
export interface Peers {
  /** Node 22, which they need; all contenders run on it. */
  readonly node: string;
  readonly load: (name: string) => Promise<unknown>;
  /** Of the packages and of Node, by name. */
  readonly versions: Readonly<Record<string, string>>;
}

const root = join(__dirname, '../../../../..');
const source = join(root, 'test/bench/queue/peers');
const folder = join(root, '.data/bench-peers');

/** Installs them, once, into a folder that git ignores. */
export function installPeers(): Peers {
  const lock = join(folder, 'package-lock.json');
  const current =
    existsSync(lock) && readFileSync(lock, 'utf8') === readFileSync(join(source, 'package-lock.json'), 'utf8');
  if (!current || !existsSync(join(folder, 'node_modules/node/bin/node'))) {
    mkdirSync(folder, { recursive: true });
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(source, file), join(folder, file));
    const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (status !== 0)
      throw new Error(`the packages that the bench compares with could not be installed into ${folder}`);
  }
  return peers();
}

/** The installed ones. */
export function peers(): Peers {
  const require = createRequire(join(folder, 'package.json'));
  return {
    node: join(folder, 'node_modules/node/bin/node'),
    load: async (name) => require(name) as unknown,
    versions: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')).dependencies as Record<string, string>,
  };
}
