import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from '../../part';
import { monotonic } from '../contender';
import { Delays, distribution } from '../delays';
import { offer } from '../offer';
import { workerProcess } from '../worker-process';
import type { Setting } from './setting';

/** One process records at a steady rate, another one works: how long from a commit to the call of its handler. */
export interface Latency {
  readonly kind: 'latency';
  /** Transactions a second. */
  readonly rate: number;
  readonly seconds: number;
}

export async function latency({ name, contender, url }: Setting, { rate, seconds }: Latency): Promise<Figures> {
  const delays = new Delays();
  const worker = await workerProcess(name, url, {}, delays.onHandled);
  const recorder = await contender.recorder!(url, 2);
  const stop = offer(recorder, { rate, clients: 2, jitter: true, onRecorded: delays.onRecorded });
  // Code, plans and connections of both processes warm up.
  await sleep(2_000);
  const from = monotonic();
  await sleep(seconds * 1_000);
  const to = monotonic();
  await stop();
  await delays.complete(3_000);
  const figures = distribution(delays.between(from, to));
  if (delays.missing > 0) throw new Error(`${name} did not handle ${delays.missing} deliveries`);
  await worker.stop();
  await recorder.close();
  return figures;
}
