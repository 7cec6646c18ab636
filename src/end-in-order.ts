/** npm passes a terminal's Ctrl-C on to a process that had it already: what comes within this time is one signal, in ms. */
const oneSignal = 300;

/** Resolves at the first SIGINT or SIGTERM from now on; a second one ends the process at once, with exit code 1. */
export function firstSignal(): Promise<void> {
  return new Promise((resolve) => {
    let first: number | undefined;
    const onSignal = (): void => {
      first ??= performance.now();
      resolve();
      if (performance.now() - first > oneSignal) process.exit(1);
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  });
}

/**
 * Runs a service until SIGINT or SIGTERM, then stops it and ends the process with exit code 0. A signal during the start is
 * obeyed after it. What has begun of a failed start is stopped, and the failure thrown.
 */
export async function endInOrder(service: { start(): Promise<void>; stop(): Promise<void> }): Promise<void> {
  const signalled = firstSignal();
  try {
    await service.start();
    await signalled;
  } finally {
    await service.stop();
  }
  process.exit(0);
}
