import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Figures } from '../../part';
import { cpuMeter } from '../cpu';
import type { Setting } from './setting';

/** A process that works queues in which there is nothing. */
export interface Idle {
  readonly kind: 'idle';
  readonly queues: number;
  readonly seconds: number;
}

export async function idle({ contender, url, query }: Setting, { queues, seconds }: Idle): Promise<Figures> {
  const worker = await contender.idle!(url, queues);
  // Start-up is over, and what it did has reached the statistics, which a backend sends once a second.
  await sleep(5_000);
  const cpu = await cpuMeter(query);
  const before = await transactions(url);
  cpu.start();
  await sleep(seconds * 1_000);
  const { node, postgres } = cpu.stop();
  const after = await transactions(url);
  await worker.stop();
  return {
    transactions: (after - before) / seconds,
    'Node CPU': node / seconds / 10,
    'PostgreSQL CPU': postgres / seconds / 10,
  };
}

/** How many transactions there were in the database; asked from another one, so that the question does not count. */
async function transactions(url: string): Promise<number> {
  const elsewhere = new URL(url);
  const name = elsewhere.pathname.slice(1);
  elsewhere.pathname = '/postgres';
  const client = new Client({ connectionString: elsewhere.toString() });
  await client.connect();
  const { rows } = await client.query<{ count: string }>(
    'SELECT xact_commit + xact_rollback AS count FROM pg_stat_database WHERE datname = $1',
    [name],
  );
  await client.end();
  return Number(rows[0]!.count);
}
