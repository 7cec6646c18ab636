import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { errorCode } from './error-code';
import type { Owner } from './run-folder-name';

/** This process as the owner of temporary folders. */
export function thisOwner(): Owner {
  return { host: thisHost(), pid: process.pid, began: beganAt(process.pid) };
}

/** Short mark of this machine or container, from its host name. */
export function thisHost(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 8);
}

/** Whether the process that owns a folder still runs: the same id and, where the system tells, the same beginning. */
export function ownerLives(owner: Owner): boolean {
  return processLives(owner.pid) && (owner.began === 0 || beganAt(owner.pid) === owner.began);
}

/**
 * Whether a process serves this data folder. Where there is /proc its command line must name the folder, since after a
 * restart of the machine the id in `postmaster.pid` may be anybody's.
 */
export function servesFolder(pid: number, dataDirectory: string): boolean {
  if (!processLives(pid)) return false;
  const commandLine = readProc(`/proc/${pid}/cmdline`);
  return commandLine === undefined || commandLine.split('\0').includes(dataDirectory);
}

/** Whether a process with this id exists, whoever owns it. */
export function processLives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/** Field 22 of /proc/<pid>/stat, counted from the end of the name, which may itself hold blanks and brackets. */
function beganAt(pid: number): number {
  const stat = readProc(`/proc/${pid}/stat`);
  if (stat === undefined) return 0;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[19] ?? 0) || 0;
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
