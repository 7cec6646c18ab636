import type { Attempt } from '../delivery/delivery';

/** The reason of an attempt's signal: `timeout` at its deadline, `shutdown` at the end of the shut-down grace. */
export class AttemptAbortedError extends Error {
  readonly code = 'DELIVERIES_ATTEMPT_ABORTED';

  constructor(readonly kind: string) {
    super(kind === timeoutKind ? 'The attempt reached its deadline.' : 'The application is shutting down.');
    this.name = 'AttemptAbortedError';
  }
}

export const timeoutKind = 'timeout';
export const shutdownKind = 'shutdown';

/** Attempts that began in this turn of the event loop. */
let begun: AttemptInFlight[] = [];

/**
 * What a channel gets for one attempt. Tens of thousands begin in a second and most end well before their deadline, so nothing
 * is made before it is needed: the signal when the channel asks for it, the timer when the attempt outlives the turn of the
 * event loop in which it began.
 */
export class AttemptInFlight implements Attempt {
  private readonly endsAt: number;
  private controller: AbortController | undefined;
  private timer: NodeJS.Timeout | undefined;
  private hasEnded = false;
  private kind: string | undefined;

  /**
   * @param deadline in ms from now
   * @param onDeadline called when the deadline has come
   * @param isHeld asks the database
   */
  constructor(
    readonly number: number,
    deadline: number,
    private readonly onDeadline: () => void,
    readonly isHeld: () => Promise<boolean>,
  ) {
    this.endsAt = performance.now() + deadline;
    if (begun.length === 0) setImmediate(armBegun);
    begun.push(this);
  }

  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.kind !== undefined) this.controller.abort(new AttemptAbortedError(this.kind));
    }
    return this.controller.signal;
  }

  /** Why the signal aborted; undefined while it has not. */
  get abortedFor(): string | undefined {
    return this.kind;
  }

  remaining(): number {
    return Math.max(0, this.endsAt - performance.now());
  }

  abort(kind: string): void {
    this.kind = kind;
    // A channel that never returns would leave it to hold a process that is to end.
    clearTimeout(this.timer);
    this.controller?.abort(new AttemptAbortedError(kind));
  }

  end(): void {
    this.hasEnded = true;
    clearTimeout(this.timer);
  }

  arm(): void {
    if (!this.hasEnded && this.kind === undefined) this.timer = setTimeout(this.onDeadline, this.remaining());
  }
}

function armBegun(): void {
  const now = begun;
  begun = [];
  for (const attempt of now) attempt.arm();
}
