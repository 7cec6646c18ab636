import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits until something is so and gives what it was; fails with its name when it is not in time.
 * @param within in ms: far more than it takes, since only a test that fails waits for so long
 */
export async function until<T>(
  what: string,
  fact: () => T | Promise<T>,
  within = 20_000,
): Promise<Exclude<T, false | undefined | null | 0>> {
  const deadline = performance.now() + within;
  for (;;) {
    const found = await fact();
    if (found) return found as Exclude<T, false | undefined | null | 0>;
    if (performance.now() > deadline) throw new Error(`Not within ${within} ms: ${what}`);
    await delay(5);
  }
}

/** A promise that the test opens. */
export interface Gate {
  readonly passed: Promise<void>;
  readonly open: () => void;
}

export function gate(): Gate {
  let open!: () => void;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}
