import { setTimeout as sleep } from 'node:timers/promises';
import type { Contender, Query } from './contender';

/** What is measured, in deliveries (or transactions) a second. */
export interface Scenario {
  readonly kind: 'drain' | 'record' | 'insert' | 'bulk';
  readonly count: number;
  /** Ordering keys, over which the backlog is spread evenly. */
  readonly keys?: number;
  readonly concurrency?: number;
  /** Each send takes that long, in ms. */
  readonly sendMs?: number;
  readonly history?: number;
  readonly scheduled?: number;
  /** Keys with a failed head, and how many wait behind each. */
  readonly stuck?: { readonly keys: number; readonly behind: number };
  readonly clients?: number;
  /** A contender that needs longer is judged by what it had done by then. */
  readonly seconds?: number;
}

/** @returns the figure, higher being better */
export async function runScenario(
  contender: Contender,
  scenario: Scenario,
  url: string,
  query: Query,
): Promise<number> {
  const ordered = scenario.keys !== undefined;
  await contender.setUp(url, { ordered });
  await query('CREATE TABLE business (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text)');
  await query('CREATE TABLE plain (id uuid PRIMARY KEY, payload jsonb)');
  switch (scenario.kind) {
    case 'drain':
      return drain(contender, scenario, url, query);
    case 'record':
      return perSecond(scenario.count, () => contender.recordEach!(url, scenario.clients ?? 8, scenario.count));
    case 'insert':
      return perSecond(scenario.count, () => contender.insertEach!(url, scenario.clients ?? 8, scenario.count));
    case 'bulk':
      return perSecond(scenario.count, () => contender.fill(url, scenario.count));
  }
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return count / ((performance.now() - began) / 1_000);
}

/** From the first delivery that is handled to the last that is settled: starting up is nobody's merit. */
async function drain(contender: Contender, scenario: Scenario, url: string, query: Query): Promise<number> {
  const { count, keys, sendMs, seconds = 60 } = scenario;
  if (scenario.history) await contender.fillHistory!(query, scenario.history);
  if (scenario.scheduled) await contender.fillScheduled!(query, scenario.scheduled);
  if (scenario.stuck) await contender.fillStuck!(query, scenario.stuck.keys, scenario.stuck.behind);
  await contender.fill(url, count, keys === undefined ? undefined : (n) => `key-${String(n % keys).padStart(6, '0')}`);
  // Fresh statistics and no dirty pages: what was done to prepare is not measured.
  await query('VACUUM ANALYZE');
  await query('CHECKPOINT');

  const lastOfKey = new Map<number, number>();
  let handled = 0;
  let began = 0;
  let finish!: () => void;
  const all = new Promise<void>((resolve) => (finish = resolve));
  const handle = (n: number): void | Promise<void> => {
    began ||= performance.now();
    if (keys !== undefined) requireOrder(lastOfKey, n % keys, n);
    handled += 1;
    if (handled === count) finish();
    if (sendMs !== undefined) return sleep(sendMs);
  };
  const worker = await contender.work(url, { keys, concurrency: scenario.concurrency }, handle);
  await Promise.race([all, sleep(seconds * 1_000)]);
  if (handled >= count) while (!(await contender.isDrained(query))) await sleep(3);
  const figure = handled / ((performance.now() - began) / 1_000);
  await worker.stop();
  return figure;
}

function requireOrder(lastOfKey: Map<number, number>, key: number, n: number): void {
  if ((lastOfKey.get(key) ?? -1) >= n) throw new Error(`key ${key}: ${n} came after ${lastOfKey.get(key)}`);
  lastOfKey.set(key, n);
}
