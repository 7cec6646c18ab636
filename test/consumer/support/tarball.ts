import { execFile } from 'node:child_process';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

export const root = resolve(__dirname, '../../..');

/** What `npm pack` made. */
export interface Tarball {
  /** Where it is. */
  readonly path: string;
  /** Paths of its files, sorted. */
  readonly files: readonly string[];
  /** Of the files, in bytes. */
  readonly unpackedSize: number;
}

const run = promisify(execFile);

/** Compiles what the package ships into `build/` and packs it, as `npm publish` would, into `folder`. Some 10 s. */
export async function packPackage(folder: string): Promise<Tarball> {
  await run(process.execPath, [join(root, 'scripts/build-package.mjs')], { cwd: root });
  // Without scripts: prepack would only build it again.
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: root,
  });
  const [packed] = JSON.parse(stdout) as [{ filename: string; unpackedSize: number; files: { path: string }[] }];
  return {
    path: join(folder, packed.filename),
    files: packed.files.map(({ path }) => path).toSorted(),
    unpackedSize: packed.unpackedSize,
  };
}
