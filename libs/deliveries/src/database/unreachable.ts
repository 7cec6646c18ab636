import { DatabaseUnreachableError } from '../errors';
import { isOutage } from './worker-database';

/** What drivers throw without a code when a connection cannot be had, or is lost. */
const lost =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered)/;

/** Whether PostgreSQL could not be asked, by an error of a statement on the host's connections. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof DatabaseUnreachableError) return true;
  const { code, message, name } = Object(error) as { code?: unknown; message?: unknown; name?: unknown };
  // What TypeORM says of a connection that was lost between two statements of a transaction.
  if (typeof name === 'string' && name.endsWith('AlreadyReleasedError')) return true;
  // Node's own mistakes, such as ERR_INVALID_ARG_TYPE, are programs' mistakes.
  if (typeof code === 'string') return !code.startsWith('ERR_') && isOutage(error);
  return typeof message === 'string' && lost.test(message);
}
