/** How a queue is driven by the bench: each in its own words, with the settings that its documentation recommends. */
export interface Contender {
  /** Makes the tables. */
  setUp(url: string, options: { readonly ordered: boolean }): Promise<void>;
  /** A process that records whole lists, in one call each. */
  lists(url: string): Promise<Lists>;
  /** Starts a worker. @param handle called with the number of each delivery */
  work(url: string, options: WorkOptions, handle: Handle): Promise<Worker>;
  /** True when the backlog that was recorded is done, as far as the tables say. */
  isDrained(query: Query): Promise<boolean>;
  /** What lies in the tables beside the backlog, as if it had come there over time. */
  readonly besides?: Readonly<Partial<Record<Beside, (query: Query, count: number) => Promise<void>>>>;
  /** Opens `clients` connections of a process that records in its own transactions. */
  recorder?(url: string, clients: number): Promise<Recorder>;
  /** One change that causes `count` deliveries, to the recipients in the table `recipients`. */
  fanOut?(url: string): Promise<{ run(): Promise<void>; close(): Promise<void> }>;
  /** A process that works `queues` queues in which there is nothing. */
  idle?(url: string, queues: number): Promise<Worker>;
}

/** `stuck`: that many keys with a failed head and 100 waiting behind it. */
export type Beside = 'finished' | 'scheduled' | 'failed' | 'stuck';

/** What distinguishes one delivery of a backlog from the next. */
export interface Kind {
  readonly key?: string;
  readonly lane?: string;
  /** The number that its payload has; default its place in the backlog. */
  readonly seq?: number;
}

export interface Lists {
  record(kinds: readonly Numbered[]): Promise<unknown>;
  close(): Promise<void>;
}

/** One of a backlog. */
export interface Numbered extends Kind {
  readonly n: number;
  readonly seq: number;
}

export type Handle = (n: number) => void | Promise<void>;

export interface WorkOptions {
  /** Ordering keys of the backlog; undefined for unordered work. */
  readonly keys?: number | undefined;
  /** Deliveries in flight at most; undefined for what drains fastest. */
  readonly concurrency?: number | undefined;
  /** What is claimed at once, for contenders in which that is a setting of its own; undefined for what drains fastest. */
  readonly batch?: number | undefined;
}

export interface Worker {
  stop(): Promise<void>;
}

export interface Recorder {
  /**
   * One transaction that inserts a business row and `deliveries` deliveries, numbered from `n`.
   * @param client whose connection, from 0
   * @returns when its last statement had returned and only the commit was left, as {@link monotonic} time
   */
  record(n: number, client: number, deliveries?: readonly Kind[]): Promise<number>;
  close(): Promise<void>;
}

export type Query = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** In ms, of a clock that all processes of this machine share. */
export const monotonic = (): number => Number(process.hrtime.bigint()) / 1e6;

/** A payload of 300 bytes, the same for everybody. */
export function payload(n: number): { seq: number; type: string; orderId: string; pad: string } {
  const base = { seq: n, type: 'order.updated', orderId: `ord_${1e9 + n}`, pad: '' };
  return { ...base, pad: 'x'.repeat(Math.max(0, 300 - JSON.stringify(base).length)) };
}

/** Runs `work` for 0 to `count - 1`, `lanes` at a time. */
export async function inLanes(
  lanes: number,
  count: number,
  work: (n: number, lane: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const run = async (lane: number): Promise<void> => {
    while (next < count) await work(next++, lane);
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => run(lane)));
}

/** Records a backlog in calls of 1,000. */
export async function fill(lists: Lists, count: number, of: (n: number) => Kind = () => ({})): Promise<void> {
  // One call after the other where the order matters.
  const lanes = of(0).key === undefined ? 2 : 1;
  await inLanes(lanes, Math.ceil(count / 1_000), (call) => {
    const size = Math.min(1_000, count - call * 1_000);
    const numbers = Array.from({ length: size }, (_, index) => call * 1_000 + index);
    return lists.record(numbers.map((n) => ({ n, seq: n, ...of(n) })));
  });
}

export const percentile = (figures: readonly number[], percent: number): number => {
  const sorted = figures.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((percent / 100) * sorted.length))] ?? Number.NaN;
};
