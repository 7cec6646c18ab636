import { kindOfThrown } from '../delivery/kind';
import { failed, retry, skipped, succeeded, type Outcome } from '../delivery/outcome';
import type { Attempt, Delivery } from '../delivery/delivery';
import type { ChannelHandler } from '../channel/channel.decorator';

/** How long a channel has, after its signal aborted, to say what happened; in ms. */
export const abortGrace = 1_000;

/** What became of a call to a channel. */
export interface Sent {
  readonly outcome: Outcome | { readonly type: 'interrupted'; readonly kind: string };
  /** Settles when the channel has really returned, which one that ignores its signal does later than its outcome. */
  readonly returned: Promise<void>;
  /** False when the outcome was decided without the channel: it may still be sending. */
  readonly hasReturned: boolean;
}

/** The kinds of outcomes that are given in the channel's place. */
const timeoutKind = 'timeout';
const shutdownKind = 'shutdown';

/**
 * Calls `channel.send` with a deadline and a signal, and always answers: with what the channel returned, with a retry for
 * what it threw, or, a second after the signal aborted, with a retry for a channel that does not listen to it.
 *
 * @param deadline ms that this attempt may take
 * @param shutdown aborts when the application has waited long enough
 */
export async function send(
  channel: ChannelHandler,
  delivery: Delivery,
  number: number,
  deadline: number,
  shutdown: AbortSignal,
): Promise<Sent> {
  const abort = new AbortController();
  const endsAt = performance.now() + deadline;
  const attempt: Attempt = { number, signal: abort.signal, remaining: () => Math.max(0, endsAt - performance.now()) };
  let abandon!: (outcome: Sent['outcome']) => void;
  const abandoned = new Promise<Sent['outcome']>((resolve) => (abandon = resolve));
  let graceTimer: NodeJS.Timeout | undefined;
  const stop = (kind: string): void => {
    if (abort.signal.aborted) return;
    // A channel that never returns would leave it to hold a process that is to end.
    clearTimeout(timer);
    abort.abort(new AttemptAbortedError(kind));
    graceTimer = setTimeout(() => abandon(aborted(kind)), abortGrace);
  };
  const timer = setTimeout(() => stop(timeoutKind), deadline);
  const onShutdown = (): void => stop(shutdownKind);
  shutdown.addEventListener('abort', onShutdown);

  let hasReturned = false;
  const call = callChannel(channel, delivery, attempt).finally(() => {
    hasReturned = true;
    clearTimeout(timer);
    clearTimeout(graceTimer);
    shutdown.removeEventListener('abort', onShutdown);
  });
  const outcome = await Promise.race([call, abandoned]);
  return { outcome, hasReturned, returned: call.then(() => undefined) };
}

const aborted = (kind: string): Sent['outcome'] =>
  kind === shutdownKind ? { type: 'interrupted', kind } : retry(kind);

async function callChannel(channel: ChannelHandler, delivery: Delivery, attempt: Attempt): Promise<Sent['outcome']> {
  const abortedFor = (): string | undefined =>
    attempt.signal.reason instanceof AttemptAbortedError ? attempt.signal.reason.kind : undefined;
  try {
    const outcome = checkedOutcome(await channel.send(delivery, attempt));
    // A client that was aborted may say so instead of throwing. The receiver did nothing wrong, so nobody waits for it.
    return outcome.type === 'retry' && abortedFor() === shutdownKind ? aborted(shutdownKind) : outcome;
  } catch (error) {
    // Whatever class an aborted call throws, the reason is ours.
    const kind = abortedFor();
    return kind === undefined ? retry(kindOfThrown(error)) : aborted(kind);
  }
}

// A channel may be plain JavaScript, or build its outcome by hand: what is written down goes through the pattern again.
function checkedOutcome(value: unknown): Outcome {
  const outcome = (value ?? {}) as Partial<Record<string, never>>;
  switch (outcome['type'] as unknown) {
    case 'succeeded':
      return succeeded();
    case 'retry':
      return retry(outcome['kind'] ?? '', { retryAfter: outcome['retryAfter'] });
    case 'failed':
      return failed(outcome['kind'] ?? '');
    case 'skipped':
      return skipped(outcome['reason'] ?? '');
    default:
      return retry('invalid_outcome');
  }
}

/** The reason of an attempt's signal: `timeout` at its deadline, `shutdown` at the end of the shut-down grace. */
export class AttemptAbortedError extends Error {
  constructor(readonly kind: string) {
    super(kind === timeoutKind ? 'The attempt reached its deadline.' : 'The application is shutting down.');
    this.name = 'AttemptAbortedError';
  }
}
