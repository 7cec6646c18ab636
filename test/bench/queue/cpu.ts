import { readdirSync, readFileSync } from 'node:fs';
import type { Query } from './contender';

/** CPU time, in ms, that this process and the server use between `start` and `stop`. */
export interface CpuMeter {
  start(): void;
  stop(): { readonly node: number; readonly postgres: number };
}

/** Ticks of Linux's clock for processes: 100 a second on every platform that Node supports. */
const msPerTick = 10;

/** Of a server on another machine, or on a system without /proc, the server's share is not known (NaN). */
export async function cpuMeter(query: Query): Promise<CpuMeter> {
  const postmaster = await postmasterOf(query);
  let node = process.cpuUsage();
  let postgres = 0;
  return {
    start() {
      node = process.cpuUsage();
      postgres = serverTicks(postmaster);
    },
    stop() {
      const { user, system } = process.cpuUsage(node);
      return { node: (user + system) / 1_000, postgres: (serverTicks(postmaster) - postgres) * msPerTick };
    },
  };
}

/** The process that started the server's processes; undefined where that cannot be known. */
export async function postmasterOf(query: Query): Promise<number | undefined> {
  const [backend] = await query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return statOf(backend!.pid)?.parent;
}

/**
 * How many cores others keep busy: whatever the machine does that neither this process, nor a child of it that has ended,
 * nor the server does. @returns a function that tells it for the time since; NaN where it cannot be known
 */
export function watchOthers(postmaster: number | undefined): () => number {
  const own = (): number => {
    const self = statOf(process.pid);
    return (self ? self.own + self.ended : Number.NaN) + serverTicks(postmaster);
  };
  const [busyBefore, ownBefore, began] = [busyTicks(), own(), performance.now()];
  return () => {
    const ticks = busyTicks() - busyBefore - (own() - ownBefore);
    return Math.max(0, (ticks * msPerTick) / (performance.now() - began));
  };
}

/** Of all cores; the first eight numbers of /proc/stat but the fourth and fifth, in which nothing was done (proc(5)). */
function busyTicks(): number {
  try {
    const [user, nice, system, , , irq, softirq, steal] = readFileSync('/proc/stat', 'latin1')
      .split('\n')[0]!
      .split(/\s+/)
      .slice(1)
      .map(Number) as [number, number, number, number, number, number, number, number];
    return user + nice + system + irq + softirq + steal;
  } catch {
    return Number.NaN;
  }
}

/** Of a server: its living processes, and those that have ended, whose ticks their parent has. */
function serverTicks(postmaster: number | undefined): number {
  const parent = postmaster === undefined ? undefined : statOf(postmaster);
  if (!parent) return Number.NaN;
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((stat) => stat?.parent === postmaster);
  return children.reduce((sum, stat) => sum + stat!.own, parent.own + parent.ended);
}

function statOf(pid: number): { parent: number; own: number; ended: number } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name, in brackets, may hold blanks; proc(5) counts fields from 1, and the first after it is the third.
    const fields = text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const field = (n: number): number => fields[n - 3] ?? 0;
    return { parent: field(4), own: field(14) + field(15), ended: field(16) + field(17) };
  } catch {
    return undefined;
  }
}
