import { setTimeout as sleep } from 'node:timers/promises';

/** How long a fact may take before the demonstration gives up: several leases, on a slow machine. */
const patience = 60_000;

/**
 * Waits until `look` finds what it looks for, and returns that.
 * @param what the fact, as it would stand after "waited 60 s until"
 */
export async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadline = performance.now() + patience;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`Waited ${patience / 1_000} s until ${what}; it did not happen.`);
    await sleep(30);
  }
}
