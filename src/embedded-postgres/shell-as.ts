import { spawn } from 'node:child_process';

/** Ids of a process to be; undefined is who we are. */
type Ids = { uid: number; gid: number } | undefined;

/**
 * Runs one line of `/bin/sh` as an account and tells whether it ended with 0. Facts about what an account may do are asked
 * from the kernel in this way instead of being calculated from modes, groups and access lists.
 */
function shellAs(ids: Ids, line: string, ...args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn('/bin/sh', ['-c', line, 'sh', ...args], {
      cwd: '/',
      stdio: 'ignore',
      ...(ids ? { uid: ids.uid, gid: ids.gid } : {}),
    });
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
  });
}

/** Whether the account may make and open files in the folder, parents included. */
export function canWriteIn(folder: string, ids: Ids): Promise<boolean> {
  return shellAs(ids, '[ -d "$1" ] && [ -w "$1" ] && [ -x "$1" ]', folder);
}

/** Whether the account may go through the folder, parents included. */
export function canEnter(folder: string, ids: Ids): Promise<boolean> {
  return shellAs(ids, '[ -d "$1" ] && [ -x "$1" ]', folder);
}

/** Whether the account may execute the file, parents included. */
export function canExecute(file: string, ids: Ids): Promise<boolean> {
  return shellAs(ids, '[ -f "$1" ] && [ -x "$1" ]', file);
}

/**
 * Removes a folder with everything in it, with the rights of the account that owns it: root never walks through a tree in
 * which somebody else can exchange a folder for a link.
 */
export async function removeFolder(folder: string, ids: Ids): Promise<void> {
  await shellAs(ids, 'rm -rf -- "$1"', folder);
}
