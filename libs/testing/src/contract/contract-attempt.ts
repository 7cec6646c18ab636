import { AttemptAbortedError, type Attempt } from 'nest-deliveries';

/**
 * An attempt like a worker's, that nobody takes away.
 * @param deadline in ms
 * @param abort ends it, at the deadline by itself
 */
export function contractAttempt(
  number: number,
  deadline: number,
  abort: AbortController,
): { attempt: Attempt; end: () => void } {
  const endsAt = performance.now() + deadline;
  const timer = setTimeout(() => abort.abort(new AttemptAbortedError('timeout')), deadline);
  return {
    attempt: {
      number,
      signal: abort.signal,
      remaining: () => Math.max(0, endsAt - performance.now()),
      isHeld: () => Promise.resolve(true),
    },
    end: () => clearTimeout(timer),
  };
}
