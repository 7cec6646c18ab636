import { readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account } from './account';
import { createRunFolder, handOver, removeRunFolder, sweepFolders } from './run-folder';
import { startFailure } from './start-failure';
import { EmbeddedPostgresError } from './unavailable';
import { guard } from './watchdog';

/** How the name of a cluster in the making begins. */
const MAKING = '.making-';

/**
 * Makes the cluster `<home>/data` unless it is there: user `postgres`, trust, locale C, UTF8 (0.8 to 2.2 s).
 *
 * initdb works in a folder beside it that is renamed at the end. So a killed start leaves no half-made cluster, and of two
 * first starts on one folder one rename wins and the other finds the place taken.
 *
 * @param cluster.home folder of the account that will hold `data/`
 * @param cluster.native usable binaries
 * @param cluster.runFolder for the log of initdb; goes away with us when the cluster is temporary
 */
export async function initialise(cluster: {
  home: string;
  native: string;
  account: Account | undefined;
  temporary: boolean;
  runFolder: string;
}): Promise<void> {
  const { home, native, account, temporary, runFolder } = cluster;
  const data = join(home, 'data');
  if (await exists(join(data, 'PG_VERSION'))) return;
  await sweepFolders(home, MAKING);
  const making = await createRunFolder(home, MAKING);
  await handOver(making, account);
  const log = join(runFolder, 'initdb.log');
  const initdb = guard({
    command: join(native, 'bin', 'initdb'),
    args: [
      ...['-D', making, '-U', 'postgres', '-A', 'trust', '--locale=C', '-E', 'UTF8', '--no-instructions'],
      ...(temporary ? ['--no-sync'] : []),
    ],
    account,
    lastSignal: 'TERM',
    log,
    leftover: temporary ? runFolder : making,
  });
  const end = await initdb.exited;
  if ('error' in end)
    throw new EmbeddedPostgresError(`initdb did not start (${end.error.message})`, undefined, end.error);
  if (end.code !== 0) {
    await removeRunFolder(making);
    const failure = startFailure(await readFile(log, 'utf8').catch(() => ''), end.code);
    throw new EmbeddedPostgresError(`initdb failed (${failure.kind === 'other' ? failure.message : failure.kind})`);
  }
  await rename(making, data).catch(async (error: NodeJS.ErrnoException) => {
    await removeRunFolder(making);
    if (await exists(join(data, 'PG_VERSION'))) return;
    throw new EmbeddedPostgresError(`cannot make ${data} (${error.message})`, 'choose another data folder', error);
  });
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
