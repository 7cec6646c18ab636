import { createHash } from 'node:crypto';
import { lchown, lstat, mkdir, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { type Account, chooseAccount } from './account';
import { makePrivateFolder } from './run-folder';
import { canEnter, canWriteIn } from './shell-as';
import { EmbeddedPostgresError } from './unavailable';

/** Where a persistent cluster lives and who runs it. */
export interface PersistentHome {
  /** Folder that holds `data/` and `server.log`. */
  home: string;
  account: Account | undefined;
}

/**
 * Prepares the folder of a persistent cluster.
 *
 * Root gives the folder to the account it drops to, or runs the server as the owner of data that is already there. When that
 * account cannot get to the folder, because a parent is closed to others, the cluster goes to a folder below the system's
 * temporary one whose name follows from the asked-for path, so that the next start finds it again.
 *
 * @param account that root drops to; undefined when we are an ordinary user
 * @param root the temporary folder of the system that the account can use
 */
export async function persistentHome(
  directory: string,
  accounts: readonly Account[],
  account: Account | undefined,
  root: string,
): Promise<PersistentHome> {
  const asked = resolve(directory);
  const parent = dirname(asked);
  await makeFolder(parent);
  if (!account) return { home: await ownHome(asked), account };
  const owner = await ownerOf(join(asked, 'data'));
  if (owner !== undefined) return { home: asked, account: await runnerOf(asked, owner, accounts, account) };
  if (!(await canEnter(parent, account))) {
    return { home: await fallbackHome(join(await realpath(parent), basename(asked)), root, account), account };
  }
  await makeFolder(asked);
  await giveTo(asked, account);
  return { home: asked, account };
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true }).catch((error: Error) => {
    throw new EmbeddedPostgresError(`cannot make the folder ${folder} (${error.message})`, 'choose another', error);
  });
}

/** The account that existing data belongs to. */
async function runnerOf(
  asked: string,
  owner: number,
  accounts: readonly Account[],
  account: Account,
): Promise<Account> {
  const runner = owner === account.uid ? account : chooseAccount(accounts, owner);
  if (runner && (await canWriteIn(asked, runner))) return runner;
  throw new EmbeddedPostgresError(
    `uid ${owner}, who owns the data in ${asked}, cannot use that folder`,
    'choose another',
  );
}

async function ownHome(asked: string): Promise<string> {
  await makeFolder(asked);
  const owner = await ownerOf(join(asked, 'data'));
  if (owner !== undefined && owner !== process.geteuid?.()) {
    throw new EmbeddedPostgresError(
      `the data folder ${asked} belongs to another account (uid ${owner})`,
      'choose another',
    );
  }
  if (!(await canWriteIn(asked, undefined))) {
    throw new EmbeddedPostgresError(`the data folder ${asked} is not writable`, 'choose another');
  }
  return asked;
}

/** Only a folder without anything of somebody else's in it changes hands. */
async function giveTo(folder: string, account: Account): Promise<void> {
  if ((await ownerOf(folder)) === account.uid) return;
  if ((await readdir(folder)).length > 0) {
    throw new EmbeddedPostgresError(
      `${folder} is not empty and holds no PostgreSQL data`,
      'choose another data folder',
    );
  }
  await lchown(folder, account.uid, account.gid);
}

async function fallbackHome(asked: string, root: string, account: Account): Promise<string> {
  const mark = createHash('sha256').update(asked).digest('hex').slice(0, 12);
  const home = join(root, `nest-deliveries-data-${basename(asked)}-${mark}`);
  await makePrivateFolder(home, account).catch(async (error: NodeJS.ErrnoException) => {
    const there = await lstat(home).catch(() => undefined);
    // Anybody can make a folder of this name in a shared temporary folder; it must be the account's own.
    if (error.code === 'EEXIST' && there?.isDirectory() && there.uid === account.uid) return;
    throw new EmbeddedPostgresError(`cannot use ${home} as the data folder`, 'remove it, or choose another', error);
  });
  return home;
}

async function ownerOf(path: string): Promise<number | undefined> {
  return await stat(path).then(
    (found) => found.uid,
    () => undefined,
  );
}
