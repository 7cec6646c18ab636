import { readFileSync, statfsSync } from 'node:fs';

const folder = '/dev/shm';
/** What the data of a run may take, in bytes; it was 0.1 GB. Four times as much has to be there for everything else. */
const needed = 2 ** 30;

/**
 * A folder of Linux that lies in memory, if there is plenty of it: every test file makes a database of 300 files and removes it, for
 * which a disk takes a tenth of the run's time (ext4 does not use a file's number again in its first minutes, and looks for others one
 * by one).
 */
export function folderInMemory(): string | undefined {
  try {
    const [, , type, options = ''] = mounts().find(([, path]) => path === folder) ?? [];
    // The server's programs are copied into its folder where root must not run them.
    if (type !== 'tmpfs' || options.split(',').includes('noexec')) return undefined;
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize >= needed && process.availableMemory() >= 4 * needed ? folder : undefined;
  } catch {
    return undefined;
  }
}

const mounts = (): string[][] =>
  readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '));
