/** npm passes a terminal's Ctrl-C on to a process that had it already: what comes within this time is one signal, in ms. */
const oneSignal = 300;

/**
 * Runs a service until SIGINT or SIGTERM, then stops it and ends the process with exit code 0. A second signal ends it at
 * once with 1. A signal while it starts waits for the start; a failed start is stopped and thrown.
 */
export async function endInOrder(service: { start(): Promise<void>; stop(): Promise<void> }): Promise<void> {
  let first: number | undefined;
  const signalled = new Promise<void>((resolve) => {
    const onSignal = (): void => {
      first ??= performance.now();
      resolve();
      if (performance.now() - first > oneSignal) process.exit(1);
    };
    process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  });
  try {
    await service.start();
    await signalled;
  } finally {
    await service.stop();
  }
  process.exit(0);
}
