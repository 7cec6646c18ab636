import type { Phase } from './result';

/** How an attempt ends that is stopped from outside. */
export type Stopped = { type: 'timedOut'; phase: Phase } | { type: 'unreachable'; kind: 'aborted' };

export interface DeadlineOptions {
  /** Milliseconds for the whole attempt. */
  timeout: number;
  /** Milliseconds until a connection stands, name look-up and TLS handshake included. */
  connectTimeout: number;
  /** Milliseconds for the name look-up alone; `connectTimeout` then counts from when connecting begins. */
  resolveTimeout?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * The clock of one attempt: two time limits and the caller's signal, of which the first to come stops the attempt.
 * One plain timer each, no AbortController: on a fast connection their making would show in the throughput.
 */
export class Deadline {
  stopped: Stopped | undefined;
  #phase: Phase = 'resolve';
  #onStop: ((stopped: Stopped) => void) | undefined;
  #connect: NodeJS.Timeout | undefined;
  readonly #total: NodeJS.Timeout;
  readonly #resolveBy: number;
  /** Undefined until connecting begins. */
  #connectBy: number | undefined;
  readonly #connectTimeout: number;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = (): void => this.#stop({ type: 'unreachable', kind: 'aborted' });

  constructor({ timeout, connectTimeout, resolveTimeout, signal }: DeadlineOptions) {
    this.#total = setTimeout(() => this.#stop({ type: 'timedOut', phase: this.#phase }), timeout);
    const now = performance.now();
    this.#connectTimeout = connectTimeout;
    this.#resolveBy = now + (resolveTimeout ?? connectTimeout);
    this.#connectBy = resolveTimeout === undefined ? this.#resolveBy : undefined;
    this.#signal = signal;
    if (signal?.aborted) {
      this.#abort();
    } else {
      signal?.addEventListener('abort', this.#abort, { once: true });
    }
  }

  /** The connect limit runs while resolving and connecting, and only then. */
  enter(phase: Phase): void {
    this.#phase = phase;
    this.pause();
    if (phase === 'response') {
      return;
    }
    const now = performance.now();
    const by = phase === 'resolve' ? this.#resolveBy : (this.#connectBy ??= now + this.#connectTimeout);
    this.#connect = setTimeout(() => this.#stop({ type: 'timedOut', phase: this.#phase }), Math.max(0, by - now));
  }

  /** Until the next phase begins, only the limit of the whole attempt runs. */
  pause(): void {
    clearTimeout(this.#connect);
    this.#connect = undefined;
  }

  /** What to do when the attempt is stopped; replaces what was set before. At once if that has happened already. */
  onStop(action: (stopped: Stopped) => void): void {
    this.#onStop = action;
    if (this.stopped) {
      action(this.stopped);
    }
  }

  /** The work's own value, or what stopped it first. The work goes on unheard then. */
  race<T>(work: Promise<T>): Promise<T | Stopped> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.onStop(resolve);
    });
  }

  /** Ends the watch: neither timer nor listener outlives the attempt. */
  release(): void {
    clearTimeout(this.#total);
    clearTimeout(this.#connect);
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#onStop = undefined;
  }

  #stop(stopped: Stopped): void {
    if (!this.stopped) {
      this.stopped = stopped;
      this.#onStop?.(stopped);
    }
  }
}
