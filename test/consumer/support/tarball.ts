import { execFile } from 'node:child_process';
import { cpSync, symlinkSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
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
  /** The copy of this repository that it was made in, with the compiled code. */
  readonly source: string;
}

const run = promisify(execFile);
const made = ['.data', '.git', 'build', 'coverage', 'dist', 'node_modules'];

/**
 * Compiles and packs what `npm publish` would, into `folder`: in a copy of this repository, since another test may be doing the same.
 * Some 10 s.
 */
export async function packPackage(folder: string): Promise<Tarball> {
  const source = join(folder, 'repository');
  cpSync(root, source, { recursive: true, filter: (path) => !made.includes(relative(root, path)) });
  symlinkSync(join(root, 'node_modules'), join(source, 'node_modules'));
  await run('npm', ['run', '--silent', 'prepack'], { cwd: source });
  // Without scripts: what they print would stand before the JSON.
  const { stdout } = await run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', folder], {
    cwd: source,
  });
  const [packed] = JSON.parse(stdout) as [{ filename: string; unpackedSize: number; files: { path: string }[] }];
  return {
    path: join(folder, packed.filename),
    files: packed.files.map(({ path }) => path).toSorted(),
    unpackedSize: packed.unpackedSize,
    source,
  };
}
