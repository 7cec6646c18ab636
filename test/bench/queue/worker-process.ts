import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonic, type Contender, type Handle, type WorkOptions, type Worker } from './contender';

/** How a worker in a process of its own sends. */
export interface WorkerOrder extends WorkOptions {
  /** Each send takes that long, in ms. */
  readonly sendMs?: number;
  /** Of those with negative numbers. */
  readonly slowMs?: number;
}

/** Numbers of deliveries, and when their handler was called, as monotonic time. */
export type Handled = readonly (readonly [n: number, at: number])[];

/** A worker in a process of its own, as in production: what records wakes it through the database, or not at all. */
export async function workerProcess(
  name: string,
  url: string,
  order: WorkerOrder,
  onHandled: (handled: Handled) => void,
): Promise<Worker> {
  const child = fork(process.argv[1]!, ['work', name, url, JSON.stringify(order)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit').then(() => {
    throw new Error(`the worker process of ${name} ended`);
  });
  exited.catch(() => undefined);
  await Promise.race([once(child, 'message'), exited]);
  child.on('message', onHandled);
  return {
    async stop() {
      child.disconnect();
      await exited.catch(() => undefined);
    },
  };
}

/** What runs in that process, until the one that started it lets go of it. */
export async function runWorkerProcess(contender: Contender, url: string, order: WorkerOrder): Promise<void> {
  let handled: [number, number][] = [];
  const handle: Handle = (n) => {
    handled.push([n, monotonic()]);
    const ms = n < 0 ? order.slowMs : order.sendMs;
    if (ms !== undefined) return sleep(ms);
  };
  const worker = await contender.work(url, order, handle);
  // Told in lots, so that telling costs the sends next to nothing.
  const telling = setInterval(() => {
    if (handled.length === 0 || !process.connected) return;
    process.send!(handled);
    handled = [];
  }, 100);
  process.send!([]);
  await once(process, 'disconnect');
  clearInterval(telling);
  await worker.stop();
}
