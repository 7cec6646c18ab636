import type { OutboundResult } from './result';

/** What a result means for whoever tries again: plain data, for a channel to turn into an outcome of its own. */
export type OutboundOutcome =
  | { type: 'succeeded' }
  /** `retryAfter` is the header as it came; an array when it came more than once. */
  | { type: 'retry'; kind: string; retryAfter?: string | string[] }
  | { type: 'failed'; kind: string };

/**
 * 2xx succeeded. 408, 429, 5xx, time-outs and everything that kept an answer from coming are worth another try. Every
 * other status, redirects among them, and refused destinations will not change by trying again.
 *
 * Kinds are status codes (`503`), `refused:<reason>`, `timeout:<phase>` or an unreachable result's own kind.
 */
export function outcomeOf(result: OutboundResult): OutboundOutcome {
  switch (result.type) {
    case 'responded':
      return ofStatus(result.status, result.headers['retry-after']);
    case 'refused':
      return { type: 'failed', kind: `refused:${result.reason}` };
    case 'timedOut':
      return { type: 'retry', kind: `timeout:${result.phase}` };
    default:
      return { type: 'retry', kind: result.kind };
  }
}

function ofStatus(status: number, retryAfter: string | string[] | undefined): OutboundOutcome {
  if (status >= 200 && status <= 299) {
    return { type: 'succeeded' };
  }
  const kind = String(status);
  if (status === 408 || status === 429 || (status >= 500 && status <= 599)) {
    return retryAfter === undefined ? { type: 'retry', kind } : { type: 'retry', kind, retryAfter };
  }
  return { type: 'failed', kind };
}
