/** What an attempt record may hold as an error's kind: see `OutboundResult`. */
const KIND = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;

/** undici's code for a socket that ended or broke off before an answer came. */
const SOCKET_ENDED = 'UND_ERR_SOCKET';

/** Names an error in a form that is safe to store: the platform's code, else the error's class. Never its message. */
export function failureKind(error: unknown): string {
  if (typeof error !== 'object' || error === null) {
    return 'unknown';
  }
  const code = 'code' in error ? error.code : undefined;
  if (code === SOCKET_ENDED) {
    return 'connection-closed';
  }
  const kind = typeof code === 'string' ? code : error instanceof Error ? error.name : '';
  return KIND.test(kind) ? kind : 'unknown';
}
