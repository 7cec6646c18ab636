import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for `work`, but no longer than `ms`. */
export async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const waited = new AbortController();
  await Promise.race([work, sleep(ms, undefined, { signal: waited.signal }).catch(() => undefined)]);
  waited.abort();
}
