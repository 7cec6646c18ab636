import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Installs a Node beside the one that runs the tests, from the npm package `node`, which brings it for this platform.
 * @returns where its program is
 */
export async function installNode(folder: string, major: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const manifest = { name: 'node-beside', private: true, dependencies: { node: major }, allowScripts: { node: true } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder });
  const node = join(folder, 'node_modules/node/bin/node');
  const { stdout } = await run(node, ['--version']);
  if (!stdout.startsWith(`v${major}.`)) throw new Error(`This is Node ${stdout.trim()}, and not ${major}.`);
  return node;
}
