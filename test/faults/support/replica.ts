import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { CountedOutcome, DeliveriesOptions } from 'nest-deliveries';
import { spawnTs } from '../../support/ts-child';
import { until } from './facts';

/** What a replica is told at its start. */
export interface ReplicaOrder {
  /** Address of the database, as the workers reach it. */
  readonly url: string;
  /** As the host's DataSource reaches it, if that is another way. */
  readonly hostUrl?: string;
  /** Where its channel posts to. */
  readonly receiver: string;
  readonly options?: DeliveriesOptions;
  /** Leave Nest's shutdown hooks off. */
  readonly noHooks?: boolean;
  /** Connections of the host's own pool that are opened at the start, and idle in it. */
  readonly hostConnections?: number;
}

export interface ReplicaPayload {
  /** End the process at once, or after the receiver has the delivery. */
  readonly boom?: 'at once' | 'sent';
  /** Ignore the signal and never return. */
  readonly deaf?: boolean;
}

export interface Replica {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Lines of standard output and error so far. */
  lines(): string[];
  kill(signal: NodeJS.Signals): void;
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  tally(): Promise<Record<CountedOutcome, number>>;
  /**
   * What the host's transactions recorded, between the messages `record` and `rest`: an id for each that was committed,
   * undefined for each that failed, and `rested` at the end.
   */
  readonly committed: readonly (string | undefined)[];
  /** Resolves when the workers have been started. */
  readonly ready: Promise<void>;
  /** Whether the workers have been told to stop. */
  isStopping(): boolean;
}

/** Starts a replica in a process of its own, where an unhandled rejection ends it. */
export function startReplica(order: ReplicaOrder): Replica {
  const child = spawnTs('test/faults/support/replica-main.ts', {
    args: [JSON.stringify(order)],
    env: { NODE_OPTIONS: '--unhandled-rejections=strict', NO_COLOR: '1' },
  });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  let last: number | NodeJS.Signals | undefined;
  const ended = once(child, 'close').then(([code, signal]) => (last = (code ?? signal) as number | NodeJS.Signals));
  let ready = false;
  let stopping = false;
  let tally: Record<CountedOutcome, number> | undefined;
  const committed: (string | undefined)[] = [];
  child.on(
    'message',
    (message: 'ready' | 'stopping' | { tally: Record<CountedOutcome, number> } | { committed?: string }) => {
      if (message === 'ready') ready = true;
      else if (message === 'stopping') stopping = true;
      else if ('tally' in message) ({ tally } = message);
      else committed.push(message.committed);
    },
  );
  return {
    committed,
    pid: child.pid!,
    child,
    lines: () => output.split('\n').filter(Boolean),
    kill: (signal) => void process.kill(child.pid!, signal),
    ended,
    isStopping: () => stopping,
    ready: until('the replica is up', () => ready || last !== undefined, 30_000).then(() => undefined),
    tally: async () => {
      tally = undefined;
      child.send('tally');
      return until('the replica has told its tally', () => tally);
    },
  };
}

/** Records deliveries of the replicas' channel by SQL: the test's own process is none of the application's. */
export async function recordFor(
  database: { query<Row extends object>(sql: string, parameters: unknown[]): Promise<Row[]> },
  payloads: readonly ReplicaPayload[],
): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    `INSERT INTO deliveries.deliveries (id, event_id, channel, destination, payload, due_at, created_at)
     SELECT gen_random_uuid(), gen_random_uuid(), 'http', 'test', payload, clock_timestamp(), clock_timestamp()
       FROM unnest($1::jsonb[]) AS p (payload) RETURNING id`,
    [payloads.map((payload) => JSON.stringify(payload))],
  );
  return rows.map(({ id }) => id);
}
