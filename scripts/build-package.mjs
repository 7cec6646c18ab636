// What the package ships, compiled into build/: the libraries and their migrations, and nothing of an earlier build. Imports from one
// library of another stay as they are written, `nest-deliveries/outbound-http` and so on: inside the installed package, Node and
// TypeScript resolve these names through the `exports` of its package.json, as they do for everybody else.
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

rmSync(join(root, 'build'), { recursive: true, force: true });
const { status } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.package.json'], { cwd: root, stdio: 'inherit' });
process.exitCode = status ?? 1;
