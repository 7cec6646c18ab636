import { printable } from './output';
import { DeliveriesError, InvalidRequestError } from '../errors';
import { isUnreachable } from '../database/unreachable';

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
 * For nest-commander's `serviceErrorHandler`: one line on standard error and exit code 1, or 2 for what could not be read. The
 * process then ends by itself, once its output is written: `process.exit()` would cut off what a slow reader of a pipe has not
 * taken yet.
 */
export function reportFailure(error: unknown): void {
  const where = !(error instanceof DeliveriesError) && isUnreachable(error) ? 'PostgreSQL cannot be reached: ' : '';
  process.stderr.write(`deliveries: ${where}${reasonOf(error)}\n`);
  process.exitCode = error instanceof InvalidRequestError ? exitCodes.usage : exitCodes.failed;
}

/** An error in one line. */
export function reasonOf(error: unknown): string {
  // A host name with several addresses fails with one error for each of them, under one that says nothing.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join('; ');
  const reason = error instanceof Error && error.message !== '' ? error.message : String(error);
  return printable(reason.replaceAll(/\s+/g, ' ').trim());
}

/** How long what is still open may take to close once everything is written, in ms: a frozen connection never does. */
const closePatience = 500;

/** Ends the process when its output has been taken, even if a connection that does not answer would keep it. */
export function endAfterOutput(): void {
  const end = (): void => void setTimeout(() => process.exit(), closePatience).unref();
  process.stdout.write('', () => process.stderr.write('', end));
}
