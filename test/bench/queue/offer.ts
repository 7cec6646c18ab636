import { setTimeout as sleep } from 'node:timers/promises';
import type { Kind, Recorder } from './contender';

export interface Offer {
  /** Transactions a second. */
  readonly rate: number;
  /** Deliveries in each. */
  readonly each?: number;
  readonly clients: number;
  /** A random place in each interval, so that whoever polls is met at every moment of a poll. */
  readonly jitter?: boolean;
  readonly kindOf?: (n: number) => Kind;
  /** Called for each transaction: its first delivery, how many it has, and when only the commit was left. */
  readonly onRecorded: (first: number, count: number, at: number) => void;
}

/**
 * Records at a steady rate until it is stopped, whatever becomes of what it records. What is late is made up for.
 * @returns a function that stops it, and resolves when nothing is under way
 */
export function offer(
  recorder: Recorder,
  { rate, each = 1, clients, jitter, kindOf, onRecorded }: Offer,
): () => Promise<void> {
  const began = performance.now();
  let next = 0;
  const stopped = new AbortController();
  const lane = async (client: number): Promise<void> => {
    while (!stopped.signal.aborted) {
      const transaction = next++;
      const at = began + ((transaction + (jitter ? Math.random() : 0)) * 1_000) / rate;
      await sleep(Math.max(0, at - performance.now()));
      const first = transaction * each;
      const kinds = Array.from({ length: each }, (_, index) => kindOf?.(first + index) ?? {});
      onRecorded(first, each, await recorder.record(first, client, kinds));
    }
  };
  const lanes = Promise.all(Array.from({ length: clients }, (_, client) => lane(client)));
  // Reported to whoever stops it.
  lanes.catch(() => undefined);
  return async () => {
    stopped.abort();
    await lanes;
  };
}
