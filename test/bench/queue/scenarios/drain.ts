import { setTimeout as sleep } from 'node:timers/promises';
import type { Figures } from '../../part';
import { cpuMeter } from '../cpu';
import { profiled } from '../profiled';
import type { Setting } from './setting';

/** Works off a backlog. */
export interface Drain {
  readonly kind: 'drain';
  readonly count: number;
  readonly keys?: number;
  readonly concurrency?: number;
  readonly batch?: number;
  /** Each send takes that long, in ms. */
  readonly sendMs?: number;
  /** A contender that needs longer is judged by what it had done by then. */
  readonly seconds?: number;
  /** A file for a CPU profile of the time that is measured. */
  readonly profile?: string;
}

/** From the first delivery that is handled to the last that is settled: starting up is nobody's merit. */
export async function drain(setting: Setting, scenario: Drain): Promise<Figures> {
  const { contender, url, query } = setting;
  const { count, keys, sendMs, seconds = 60, concurrency, batch } = scenario;
  const lastOfKey = new Map<number, number>();
  let handled = 0;
  let began = 0;
  let finish!: () => void;
  const all = new Promise<void>((resolve) => (finish = resolve));
  const cpu = await cpuMeter(query);
  const handle = (n: number): void | Promise<void> => {
    began ||= start();
    if (keys !== undefined) requireOrder(lastOfKey, n % keys, n);
    handled += 1;
    if (handled === count) finish();
    if (sendMs !== undefined) return sleep(sendMs);
  };
  const start = (): number => {
    cpu.start();
    return performance.now();
  };
  return profiled(scenario.profile, async () => {
    const worker = await contender.work(url, { keys, concurrency, batch }, handle);
    await Promise.race([all, sleep(seconds * 1_000)]);
    if (handled >= count) while (!(await contender.isDrained(query))) await sleep(3);
    const took = performance.now() - began;
    const done = handled;
    const { node, postgres } = cpu.stop();
    await worker.stop();
    return {
      rate: done / (took / 1_000),
      'Node µs each': (node * 1_000) / done,
      'PostgreSQL µs each': (postgres * 1_000) / done,
      'CPU µs each': ((node + postgres) * 1_000) / done,
    };
  });
}

function requireOrder(lastOfKey: Map<number, number>, key: number, n: number): void {
  if ((lastOfKey.get(key) ?? -1) >= n) throw new Error(`key ${key}: ${n} came after ${lastOfKey.get(key)}`);
  lastOfKey.set(key, n);
}
