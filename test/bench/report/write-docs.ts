import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { page } from './page';
import { picturesOf } from './pictures';
import type { Result } from './result';

const root = join(__dirname, '../../../../..');
const file = join(root, 'docs/performance.md');
const folder = join(root, 'docs/performance');

/** Writes the page and its pictures, and removes pictures that the page no longer shows. @returns what it wrote */
export async function writeDocs(result: Result): Promise<string[]> {
  const pictures = picturesOf(result);
  mkdirSync(folder, { recursive: true });
  for (const old of readdirSync(folder)) if (old.endsWith('.svg')) rmSync(join(folder, old));
  const written = pictures.map((picture) => {
    const path = join(folder, `${picture.file}.svg`);
    writeFileSync(path, picture.content);
    return path;
  });
  writeFileSync(file, await format(page(result, pictures), { ...(await resolveConfig(file)), parser: 'markdown' }));
  return [file, ...written].map((path) => relative(root, path));
}
