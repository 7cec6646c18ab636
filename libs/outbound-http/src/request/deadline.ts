import type { Phase } from './result';

/** How an attempt ends that is stopped from outside. */
export type Stopped = { type: 'timedOut'; phase: Phase } | { type: 'unreachable'; kind: 'aborted' };

export interface DeadlineOptions {
  /** Milliseconds for the whole attempt. */
  timeout: number;
  /** Milliseconds until a connection stands, name look-up and TLS handshake included. */
  connectTimeout: number;
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
  readonly #connectBy: number;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = (): void => this.#stop({ type: 'unreachable', kind: 'aborted' });

  constructor({ timeout, connectTimeout, signal }: DeadlineOptions) {
    this.#total = setTimeout(() => this.#stop({ type: 'timedOut', phase: this.#phase }), timeout);
    this.#connectBy = performance.now() + connectTimeout;
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
    if (phase === 'response') {
      clearTimeout(this.#connect);
      this.#connect = undefined;
    } else if (!this.#connect) {
      const rest = Math.max(0, this.#connectBy - performance.now());
      this.#connect = setTimeout(() => this.#stop({ type: 'timedOut', phase: this.#phase }), rest);
    }
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
