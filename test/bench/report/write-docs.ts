import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { page } from './page';
import { picturesOf } from './pictures';
import type { Result } from './result';

const root = join(__dirname, '../../../../..');
const file = join(root, 'docs/performance.md');
const folder = join(root, 'docs/performance');

/**
 * Writes the page, its pictures and the result that they were made from, from which a test makes them again; removes
 * pictures that the page no longer shows. @returns what it wrote
 */
export async function writeDocs(result: Result): Promise<string[]> {
  const pictures = picturesOf(result);
  mkdirSync(folder, { recursive: true });
  for (const old of readdirSync(folder)) if (old.endsWith('.svg')) rmSync(join(folder, old));
  const style = await resolveConfig(file);
  const write = async (path: string, text: string, parser?: string): Promise<string> => {
    writeFileSync(path, parser === undefined ? text : await format(text, { ...style, parser }));
    return relative(root, path);
  };
  return Promise.all([
    write(file, page(result, pictures), 'markdown'),
    write(join(folder, 'result.json'), JSON.stringify(result), 'json'),
    ...pictures.map(({ file: name, content }) => write(join(folder, `${name}.svg`), content)),
  ]);
}
