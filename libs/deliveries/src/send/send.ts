import { kindOfThrown } from '../delivery/kind';
import { failed, retry, skipped, succeeded, type Outcome } from '../delivery/outcome';
import type { Delivery } from '../delivery/delivery';
import type { ChannelHandler } from '../channel/channel.decorator';
import { AttemptInFlight, shutdownKind, timeoutKind } from './attempt-in-flight';
import type { Shutdown } from './shutdown';

/** How long a channel has, after its signal aborted, to say what happened; in ms. */
export const abortGrace = 1_000;

/** What became of a call to a channel. */
export interface Sent {
  readonly outcome: Outcome | { readonly type: 'interrupted'; readonly kind: string };
  /**
   * Present when the outcome was decided without the channel, which may still be sending: settles when it has really returned.
   */
  readonly returning?: Promise<void>;
}

/**
 * Calls `channel.send` with a deadline and a signal, and always answers: with what the channel returned, with a retry for
 * what it threw, or, a second after the signal aborted, with a retry for a channel that does not listen to it.
 *
 * @param deadline ms that this attempt may take
 * @param isHeld asks the database whether the claim still holds
 */
export function send(
  channel: ChannelHandler,
  delivery: Delivery,
  number: number,
  deadline: number,
  shutdown: Shutdown,
  isHeld: () => Promise<boolean>,
): Promise<Sent> {
  return new Promise((resolve) => {
    let graceTimer: NodeJS.Timeout | undefined;
    const stop = (kind: string): void => {
      if (attempt.abortedFor !== undefined) return;
      attempt.abort(kind);
      graceTimer = setTimeout(() => resolve({ outcome: aborted(kind), returning: call }), abortGrace);
    };
    const onShutdown = (): void => stop(shutdownKind);
    const attempt = new AttemptInFlight(number, deadline, () => stop(timeoutKind), isHeld);
    const untilItReturns = async (): Promise<void> => {
      const outcome = await callChannel(channel, delivery, attempt);
      attempt.end();
      clearTimeout(graceTimer);
      shutdown.delete(onShutdown);
      resolve({ outcome });
    };
    const call = untilItReturns();
    shutdown.add(onShutdown);
  });
}

const aborted = (kind: string): Sent['outcome'] =>
  kind === shutdownKind ? { type: 'interrupted', kind } : retry(kind);

async function callChannel(
  channel: ChannelHandler,
  delivery: Delivery,
  attempt: AttemptInFlight,
): Promise<Sent['outcome']> {
  try {
    const outcome = checkedOutcome(await channel.send(delivery, attempt));
    // A client that was aborted may say so instead of throwing. The receiver did nothing wrong, so nobody waits for it.
    return outcome.type === 'retry' && attempt.abortedFor === shutdownKind ? aborted(shutdownKind) : outcome;
  } catch (error) {
    // Whatever class an aborted call throws, the reason is ours.
    const kind = attempt.abortedFor;
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
