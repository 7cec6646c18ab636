import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from '../../part';
import { DeliveryRecorder } from 'nest-deliveries';
import { monotonic, payload } from '../contender';
import { BenchChannel, sendThrough, startApplication, type BenchDraft } from '../ours/application';
import { until } from '../until';
import type { Setting } from './setting';

const slots = 100;
const quietMs = 3_000;

/**
 * What lanes promise beside speed: a lane that is alone gets every slot; one that asked for quiet is left alone for so
 * long, while another goes on. Numbers below 1,000 are of the lane that is alone, of which each send takes a while.
 */
export async function quiet({ url }: Setting): Promise<Figures> {
  const app = await startApplication(url, { workers: 1, concurrency: slots });
  const recorder = app.get(DeliveryRecorder);
  const enqueue = (lane: string, from: number, count: number): Promise<unknown> => {
    const drafts = Array.from({ length: count }, (_, index): BenchDraft => ({
      destination: lane,
      payload: payload(from + index),
      lane,
    }));
    return recorder.transaction((tx) => recorder.enqueue(tx, BenchChannel, drafts));
  };

  let inFlight = 0;
  let most = 0;
  let ended = 0;
  sendThrough(async () => {
    most = Math.max(most, ++inFlight);
    await sleep(200);
    inFlight -= 1;
    ended += 1;
  });
  await enqueue('alone', 0, 5 * slots);
  await until('the lane that is alone is worked off', () => ended === 5 * slots);

  let asked = 0;
  const again: number[] = [];
  let others = 0;
  sendThrough((n) => {
    if (n >= 20_000) return void (others += 1);
    if (asked === 0) {
      asked = monotonic();
      return quietMs;
    }
    again.push(monotonic() - asked);
  });
  await enqueue('limited', 10_000, 1);
  await until('the receiver asks for quiet', () => asked > 0);
  // What was on its way when the receiver asked has left by then.
  await sleep(200);
  await enqueue('limited', 10_001, 20);
  for (let n = 0; n < 20; n++) {
    await enqueue('other', 20_000 + n, 1);
    await sleep(100);
  }
  const during = others;
  await until('the lane that was left alone goes on', () => again.length >= 20);
  await app.close();
  return { 'slots of a lane alone': most, 'quiet kept': Math.min(...again) / 1_000, 'others meanwhile': during };
}
