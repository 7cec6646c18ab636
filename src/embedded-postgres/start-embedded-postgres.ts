import { readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type Account, chooseAccount, parsePasswd } from './account';
import { locateNative, usableNative } from './binaries';
import { initialise } from './initialise';
import { endServer, type Launch, launch } from './launch';
import type { EmbeddedPostgres, EmbeddedPostgresOptions } from './options';
import { persistentHome } from './persistent-home';
import { createRunFolder, handOver, sweepRunFolders, temporaryRoot } from './run-folder';
import { ensureDatabase, runningServer } from './running-server';
import { serverArguments } from './server-arguments';
import { removeFolder } from './shell-as';
import { EmbeddedPostgresError } from './unavailable';
import type { Guarded } from './watchdog';

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
  await sweepRunFolders(root, dropTo);

  const persistent = directory === undefined ? undefined : await persistentHome(directory, accounts, dropTo, root);
  const account = persistent ? persistent.account : dropTo;
  if (persistent) {
    const port = await runningServer(join(persistent.home, 'data'));
    if (port !== undefined) return await attach(port, persistent.home, database);
  }

  const leftover = await createRunFolder(root);
  try {
    const native = await usableNative(installed, leftover, account);
    await handOver(leftover, account);
    const home = persistent?.home ?? leftover;
    await initialise(home, native, account, !persistent);
    const order: Launch = { home, native, account, temporary: !persistent, settings, leftover };
    const started = await launch(order, options.port);
    if (started !== 'folder-in-use') return await own(order, started.server, started.port, database);
    const port = await runningServer(join(home, 'data'));
    if (port === undefined)
      throw new EmbeddedPostgresError(`another process uses ${home}`, 'choose another data folder');
    await removeFolder(leftover, account);
    return await attach(port, home, database);
  } catch (error) {
    await removeFolder(leftover, account);
    throw error;
  }
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

async function attach(port: number, home: string, database: string): Promise<EmbeddedPostgres> {
  await ensureDatabase(port, database);
  const refuse = () => Promise.reject(new Error(`The server on port ${port} belongs to another process.`));
  return {
    ...address(port, home, database),
    attached: true,
    stop: async () => {},
    stopServer: refuse,
    startServer: refuse,
  };
}

async function own(order: Launch, first: Guarded, port: number, database: string): Promise<EmbeddedPostgres> {
  let server: Guarded | undefined = first;
  let stopped: Promise<void> | undefined;
  const end = async (signal: 'INT' | 'QUIT') => {
    const ending = server;
    server = undefined;
    if (ending) await endServer(ending, signal);
  };
  const stop = async () => {
    await end(order.temporary ? 'QUIT' : 'INT');
    await removeFolder(order.leftover, order.account);
  };
  await ensureDatabase(port, database).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    ...address(port, order.home, database),
    attached: false,
    stop: () => (stopped ??= stop()),
    stopServer: (how) => end(how === 'fast' ? 'INT' : 'QUIT'),
    startServer: async () => {
      if (stopped) throw new Error('This server was stopped for good: start a new one.');
      if (server && server.ended() === undefined) throw new Error('The server is running.');
      const started = await launch(order, port);
      if (started === 'folder-in-use') throw new Error(`Another process serves ${order.home}.`);
      server = started.server;
    },
  };
}

function address(port: number, home: string, database: string) {
  const url = `postgres://postgres@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  return { url, port, dataDirectory: join(home, 'data') };
}
