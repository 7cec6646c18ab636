import { chmod, lchown, lstat, mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Account } from './account';
import { parsePostmasterFile } from './postmaster-file';
import { ownerLives, servesFolder, thisHost, thisOwner } from './processes';
import { judgeRunFolder, type Owner, runFolderOwner, runFolderPrefix } from './run-folder-name';
import { canWriteIn, removeFolder } from './shell-as';
import { EmbeddedPostgresError } from './unavailable';

const KIND = 'nest-deliveries-pg-';

/** The first temporary folder of the system in which the account can work; root's own TMPDIR is often closed to others. */
export async function temporaryRoot(account: Account | undefined): Promise<string> {
  const roots = [...new Set([tmpdir(), '/tmp', '/var/tmp'])];
  const usable = await Promise.all(roots.map((root) => canWriteIn(root, account)));
  const root = roots.find((_, index) => usable[index]);
  if (root === undefined) {
    throw new EmbeddedPostgresError(`${account?.name ?? 'this account'} cannot write in ${roots.join(' or ')}`);
  }
  return root;
}

/** Makes the folder of one start: `data` of a temporary cluster, copied binaries, logs. Mode 0700, ours until handed over. */
export async function createRunFolder(root: string, kind: string = KIND): Promise<string> {
  return await mkdtemp(join(root, runFolderPrefix(kind, thisOwner())));
}

/** Gives a tree, which nobody else could enter so far, to the account. Does nothing when we are that account. */
export async function handOver(folder: string, account: Account | undefined): Promise<void> {
  if (!account) return;
  const entries = await readdir(folder, { recursive: true });
  await Promise.all(entries.map((entry) => lchown(join(folder, entry), account.uid, account.gid)));
  await lchown(folder, account.uid, account.gid);
}

/** Makes `<folder>/<name>` of mode 0700 for the account. */
export async function makePrivateFolder(folder: string, account: Account | undefined): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  await chmod(folder, 0o700);
  if (account) await lchown(folder, account.uid, account.gid);
}

/**
 * Removes the folders that killed starts have left in `root`: those of a dead owner on this machine without a running server.
 * An ordinary user's sweep takes only folders of its own.
 *
 * @param kind how their names begin
 * @returns paths of the removed folders
 */
export async function sweepFolders(root: string, kind: string = KIND): Promise<string[]> {
  const names = await readdir(root);
  const swept = await Promise.all(names.map((name) => sweepOne(join(root, name), runFolderOwner(kind, name))));
  return swept.filter((path) => path !== undefined);
}

/** Removes a folder with the rights of its present owner, who is we until the folder is handed over. */
export async function removeRunFolder(path: string): Promise<void> {
  const stats = await lstat(path).catch(() => undefined);
  if (stats) await removeFolder(path, stats.uid === process.geteuid?.() ? undefined : stats);
}

async function sweepOne(path: string, owner: Owner | undefined): Promise<string | undefined> {
  if (!owner) return undefined;
  const stats = await lstat(path).catch(() => undefined);
  if (!stats?.isDirectory()) return undefined;
  const self = process.geteuid?.();
  if (self !== 0 && self !== stats.uid) return undefined;
  const dataDirectory = join(path, 'data');
  const server = parsePostmasterFile(await readFile(join(dataDirectory, 'postmaster.pid'), 'utf8').catch(() => ''));
  const verdict = judgeRunFolder({
    owner,
    thisHost: thisHost(),
    ownerLives: ownerLives(owner),
    serverLives: server !== undefined && servesFolder(server.pid, dataDirectory),
  });
  if (verdict !== 'stale') return undefined;
  await removeRunFolder(path);
  return path;
}
