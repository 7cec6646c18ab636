import { mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Account } from './account';
import { handOver } from './run-folder';
import { removeFolder } from './shell-as';
import { startFailure } from './start-failure';
import { EmbeddedPostgresError } from './unavailable';
import { guard } from './watchdog';

/**
 * Makes the cluster `<home>/data` unless it is there: user `postgres`, trust, locale C, UTF8 (0.8 to 2.2 s).
 *
 * initdb works in a folder beside it that is renamed at the end. So a killed start leaves no half-made cluster, and of two
 * first starts on one folder one rename wins and the other finds the place taken.
 *
 * @param home folder of the account that will hold `data/`
 * @param native usable binaries
 */
export async function initialise(
  home: string,
  native: string,
  account: Account | undefined,
  temporary: boolean,
): Promise<void> {
  const data = join(home, 'data');
  if (await exists(join(data, 'PG_VERSION'))) return;
  const making = await mkdtemp(join(home, '.making-'));
  await handOver(making, account);
  const log = `${making}.log`;
  const initdb = guard({
    command: join(native, 'bin', 'initdb'),
    args: [
      ...['-D', making, '-U', 'postgres', '-A', 'trust', '--locale=C', '-E', 'UTF8', '--no-instructions'],
      ...(temporary ? ['--no-sync'] : []),
    ],
    account,
    lastSignal: 'TERM',
    log,
    leftover: making,
  });
  const end = await initdb.exited;
  const said = await readFile(log, 'utf8').catch(() => '');
  await rm(log, { force: true });
  if ('error' in end || end.code !== 0) {
    await removeFolder(making, account);
    const failure = startFailure(said, 'code' in end ? end.code : undefined);
    throw new EmbeddedPostgresError(
      `initdb failed (${'error' in end ? end.error.message : failure.kind === 'other' ? failure.message : failure.kind})`,
      undefined,
      'error' in end ? end.error : undefined,
    );
  }
  await rename(making, data).catch(async (error: NodeJS.ErrnoException) => {
    await removeFolder(making, account);
    if (!(await exists(join(data, 'PG_VERSION')))) {
      throw new EmbeddedPostgresError(`cannot make ${data} (${error.message})`, 'choose another data folder', error);
    }
  });
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
