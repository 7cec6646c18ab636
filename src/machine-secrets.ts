import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { newSecrets, readSecrets, type Secrets } from './secrets';

/** The secrets of a development machine: made at the first start, so that links of an earlier one still work. Nobody else's to read. */
export function machineSecrets(file = '.data/secrets.json'): Secrets {
  mkdirSync(dirname(file), { recursive: true });
  const own = `${file}.${process.pid}`;
  writeFileSync(own, JSON.stringify(newSecrets()), { mode: 0o600 });
  try {
    // Of several processes that start together, one gets its file in place, and it is whole when the others read it.
    linkSync(own, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(own);
  }
  return readSecrets(readFileSync(file, 'utf8'));
}
