import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves when something has come true, looking every few ms; @throws Error that names it after a minute. */
export async function until(what: string, fact: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await fact())) {
    if (performance.now() > end) throw new Error(`not within a minute: ${what}`);
    await sleep(5);
  }
}
