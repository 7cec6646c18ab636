/** What the commands tell the shell. */
export const exitCodes = { done: 0, failed: 1, usage: 2 } as const;

/**
 * For nest-commander's `errorHandler`: help ends with exit code 0 and wrong usage with 2. Commander itself would say 1, which
 * is what `migrate --status` says of a schema that is behind.
 */
export function exitAfterUsage(error: Error): never {
  // Nothing else is under way yet, and the few lines about usage fit into any pipe.
  process.exit((error as { exitCode?: number }).exitCode === 0 ? exitCodes.done : exitCodes.usage);
}

/**
 * For nest-commander's `serviceErrorHandler`: one line on standard error and exit code 1. The process then ends by itself,
 * once its output is written: `process.exit()` would cut off what a slow reader of a pipe has not taken yet.
 */
export function reportFailure(error: unknown): void {
  process.stderr.write(`deliveries: ${reasonOf(error)}\n`);
  process.exitCode = exitCodes.failed;
}

/** An error in one line. */
export function reasonOf(error: unknown): string {
  // A host name with several addresses fails with one error for each of them, under one that says nothing.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join('; ');
  const reason = error instanceof Error && error.message !== '' ? error.message : String(error);
  return reason.replaceAll(/\s+/g, ' ').trim();
}
