import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A PgBouncer that can be started here, or the reason why there is none. */
export type FoundPgBouncer = PgBouncerProgram | { readonly missing: string };

export interface PgBouncerProgram {
  readonly program: string;
  /** Folder of the libraries that it needs and the system does not have. */
  readonly libraries?: string;
  /** To be removed when it is not needed any more. */
  readonly folder?: string;
}

const places = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'];

/** The system's own; otherwise Debian's package, unpacked into a folder of this process, so that nothing is installed. */
export function findPgBouncer(): FoundPgBouncer {
  const program = places.find((path) => existsSync(path));
  if (program !== undefined) return { program };
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-program-'));
  // Where tests run as root, PgBouncer runs as somebody else, who has to read it.
  chmodSync(folder, 0o755);
  try {
    return unpackInto(folder);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    return { missing: (error as Error).message };
  }
}

/** Libraries that a small system may lack, each by the names that releases have for its package. */
const libraryPackages: Readonly<Record<string, readonly string[]>> = {
  'libcares.so': ['libc-ares2'],
  'libevent-2.1.so': ['libevent-2.1-7t64', 'libevent-2.1-7'],
};

/** @throws Error that says what did not work */
function unpackInto(folder: string): PgBouncerProgram {
  if (!tries('apt-get', ['download', 'pgbouncer'], folder)) {
    // Images come without lists of packages; only root may fetch them.
    run('apt-get', ['update', '-q'], folder);
    run('apt-get', ['download', 'pgbouncer'], folder);
  }
  unpack(folder);
  const program = join(folder, 'usr/sbin/pgbouncer');
  const needed = run('ldd', [program], folder).matchAll(/^\s*(\S+\.so)\S* => not found$/gm);
  for (const [, library] of needed) {
    const names = libraryPackages[library!] ?? [];
    if (!names.some((name) => tries('apt-get', ['download', name], folder))) throw new Error(`It needs ${library}.`);
  }
  unpack(folder);
  const libraries = join(folder, 'usr/lib');
  const [own] = existsSync(libraries) ? readdirSync(libraries).filter((name) => name.endsWith('-linux-gnu')) : [];
  return { program, folder, ...(own === undefined ? {} : { libraries: join(libraries, own) }) };
}

function unpack(folder: string): void {
  for (const name of readdirSync(folder)) if (name.endsWith('.deb')) run('dpkg-deb', ['-x', name, '.'], folder);
}

function tries(command: string, given: readonly string[], cwd: string): boolean {
  try {
    run(command, given, cwd);
    return true;
  } catch {
    return false;
  }
}

/** @returns what it wrote. @throws Error when it did not work, or took longer than a minute */
function run(command: string, given: readonly string[], cwd: string): string {
  const limits = command === 'apt-get' ? ['-o', 'Acquire::Retries=0', '-o', 'Acquire::http::Timeout=10'] : [];
  const { error, status, stdout } = spawnSync(command, [...limits, ...given], {
    cwd,
    encoding: 'utf8',
    timeout: 60_000,
  });
  if (error === undefined && status === 0) return stdout;
  throw new Error(`${command} ${given.join(' ')}: ${error?.message ?? `exit code ${status}`}.`);
}
