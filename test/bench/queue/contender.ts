/** How a queue is driven by the bench: each in its own words, with the settings that its documentation recommends. */
export interface Contender {
  /** Makes the tables. */
  setUp(url: string, options: SetUpOptions): Promise<void>;
  /** Records a backlog, in calls of 1,000. @param keyOf the ordering key of the n-th, for ordered work */
  fill(url: string, count: number, keyOf?: (n: number) => string): Promise<void>;
  /** Starts a worker. @param handle called with the number of each delivery */
  work(url: string, options: WorkOptions, handle: (n: number) => void | Promise<void>): Promise<Worker>;
  /** True when the backlog that `fill` recorded is done, as far as the tables say. */
  isDrained(query: Query): Promise<boolean>;
  /** Finished, or scheduled for later, before the backlog is recorded. */
  fillHistory?(query: Query, count: number): Promise<void>;
  fillScheduled?(query: Query, count: number): Promise<void>;
  /** Keys whose head has failed, each with `behind` waiting. */
  fillStuck?(query: Query, keys: number, behind: number): Promise<void>;
  /** A transaction that inserts one business row and one delivery, from each of `clients` clients, `count` times in all. */
  recordEach?(url: string, clients: number, count: number): Promise<void>;
  /** The same transactions with a plain INSERT of as many bytes in the place of the delivery. */
  insertEach?(url: string, clients: number, count: number): Promise<void>;
}

export interface SetUpOptions {
  readonly ordered: boolean;
}

export interface WorkOptions {
  /** Ordering keys of the backlog; undefined for unordered work. */
  readonly keys?: number | undefined;
  /** Deliveries in flight at most; undefined for what drains fastest. */
  readonly concurrency?: number | undefined;
}

export interface Worker {
  stop(): Promise<void>;
}

export type Query = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

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
