import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Account, chooseAccount, parsePasswd } from './account';
import { locateNative, usableNative } from './binaries';
import { initialise } from './initialise';
import { type Launch, launch } from './launch';
import type { EmbeddedPostgres, EmbeddedPostgresOptions } from './options';
import { persistentHome } from './persistent-home';
import { createRunFolder, handOver, removeRunFolder, sweepFolders, temporaryRoot } from './run-folder';
import { runningServer } from './running-server';
import { serverArguments } from './server-arguments';
import { attachedServer, ownServer } from './server-handle';
import { EmbeddedPostgresError } from './unavailable';

/**
 * Starts a PostgreSQL of our own on 127.0.0.1, or attaches to the one that already serves `directory`.
 *
 * The server never outlives this process: `stop()` ends it in order, and a watchdog does when we end in any other way. It does
 * not keep this process alive either. 1.2 to 2.5 s with a new cluster, 0.3 s with an existing one.
 *
 * @throws EmbeddedPostgresError one sentence on why it is not possible here and what to do instead
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgres> {
  const { directory, settings, database = 'postgres' } = options;
  serverArguments({ dataDirectory: '/', port: options.port ?? 1, temporary: true, settings });
  const installed = locateNative();
  const accounts = parsePasswd(await readFile('/etc/passwd', 'utf8').catch(() => ''));
  const dropTo = accountToDropTo(accounts);
  const root = await temporaryRoot(dropTo);
  await sweepFolders(root);

  const persistent = directory === undefined ? undefined : await persistentHome(directory, accounts, dropTo, root);
  const account = persistent ? persistent.account : dropTo;
  if (persistent) {
    const port = await runningServer(join(persistent.home, 'data'));
    if (port !== undefined) return await attachedServer(port, persistent.home, database);
  }

  const runFolder = await createRunFolder(root);
  try {
    const native = await usableNative(installed, runFolder, account);
    await handOver(runFolder, account);
    const home = persistent?.home ?? runFolder;
    await initialise({ home, native, account, temporary: !persistent, runFolder });
    return await launchOrAttach({ home, native, account, temporary: !persistent, settings, runFolder }, options);
  } catch (error) {
    await removeRunFolder(runFolder);
    throw error;
  }
}

/** Two starts at the same moment: one gets the folder, the other attaches to it, as soon as its server is ready. */
async function launchOrAttach(order: Launch, options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { port, database = 'postgres' } = options;
  for (let attempt = 1; attempt <= 20; attempt += 1) {
    const started = await launch(order, port);
    if (started !== 'folder-in-use') return await ownServer(order, started.server, started.port, database);
    const theirs = await runningServer(join(order.home, 'data'));
    if (theirs !== undefined) {
      await removeRunFolder(order.runFolder);
      return await attachedServer(theirs, order.home, database);
    }
  }
  throw new EmbeddedPostgresError(
    `the lock file ${join(order.home, 'data', 'postmaster.pid')} names a living process that is no server of that folder`,
    'remove the file',
  );
}

/** Root has to become somebody else; everybody else stays, and needs the entry in /etc/passwd that initdb asks for. */
function accountToDropTo(accounts: readonly Account[]): Account | undefined {
  if (process.geteuid?.() === 0) {
    const account = chooseAccount(accounts);
    if (account) return account;
    throw new EmbeddedPostgresError(
      'PostgreSQL refuses to run as root and there is no account postgres, nobody or daemon',
    );
  }
  try {
    userInfo();
    return undefined;
  } catch (error) {
    throw new EmbeddedPostgresError(`initdb needs a user name for uid ${process.geteuid?.()}`, undefined, error);
  }
}
