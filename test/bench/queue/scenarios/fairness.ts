import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from '../../part';
import { monotonic, percentile } from '../contender';
import { Delays } from '../delays';
import { offer } from '../offer';
import { workerProcess, type Handled } from '../worker-process';
import type { Setting } from './setting';

/** Many fast lanes, fed at a steady rate; beside them, when the database was prepared so, a backlog of a slow one. */
export interface Fairness {
  readonly kind: 'fairness';
  readonly lanes: number;
  /** Deliveries a second. */
  readonly rate: number;
  readonly seconds: number;
  readonly slots: number;
  readonly fastMs: number;
  readonly slowMs: number;
}

export async function fairness({ name, contender, url }: Setting, scenario: Fairness): Promise<Figures> {
  const { lanes, rate, seconds, slots, fastMs, slowMs } = scenario;
  const delays = new Delays();
  let slow = 0;
  const onHandled = (handled: Handled): void => {
    slow += handled.filter(([n]) => n < 0).length;
    delays.onHandled(handled);
  };
  const worker = await workerProcess(name, url, { concurrency: slots, sendMs: fastMs, slowMs }, onHandled);
  const recorder = await contender.recorder!(url, 4);
  const kindOf = (n: number): { lane: string } => ({ lane: `${n % 2 ? 'a' : 'z'}-fast-${n % lanes}` });
  const stop = offer(recorder, { rate, clients: 4, kindOf, onRecorded: delays.onRecorded });
  await sleep(3_000);
  const from = monotonic();
  const slowBefore = slow;
  await sleep(seconds * 1_000);
  const to = monotonic();
  const slowPerSecond = (slow - slowBefore) / seconds;
  await stop();
  await delays.complete(3_000);
  const fast = delays.between(from, to);
  const figures = {
    p50: percentile(fast, 50),
    p99: percentile(fast, 99),
    delivered: (100 * (fast.length - delays.missing)) / fast.length,
    slow: slowPerSecond,
  };
  await worker.stop();
  await recorder.close();
  return figures;
}
