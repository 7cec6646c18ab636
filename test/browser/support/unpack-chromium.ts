// Called from Jest's globalSetup: relative imports without an extension only.
import Chromium from '@sparticuz/chromium';
import { execFileSync } from 'node:child_process';

/**
 * Unpacks the Chromium that comes along, once for all workers and later runs (1.5 s), and says where it is in `TEST_CHROMIUM`;
 * or, in `TEST_CHROMIUM_MISSING`, why there is none. A browser that `TEST_CHROMIUM` names already is used instead.
 */
export async function unpackChromium(): Promise<void> {
  try {
    if (!process.env.TEST_CHROMIUM && (process.platform !== 'linux' || process.arch !== 'x64')) {
      throw new Error('it comes along for Linux on x64 only');
    }
    const path = process.env.TEST_CHROMIUM || (await Chromium.executablePath());
    // What it lacks of the system's libraries is said here, before any test waits for it.
    execFileSync(path, ['--version'], { stdio: 'pipe' });
    process.env.TEST_CHROMIUM = path;
  } catch (error) {
    delete process.env.TEST_CHROMIUM;
    process.env.TEST_CHROMIUM_MISSING = (error as Error).message.split('\n')[0];
  }
}
