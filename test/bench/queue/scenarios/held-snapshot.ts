import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Figures } from '../../part';
import { monotonic, percentile, type Query } from '../contender';
import { Delays } from '../delays';
import { offer } from '../offer';
import { workerProcess } from '../worker-process';
import type { Setting } from './setting';

/** A steady stream, during which another session holds a snapshot open, as a backup or an analyst does. */
export interface HeldSnapshot {
  readonly kind: 'held snapshot';
  /** Deliveries a second, in transactions of ten. */
  readonly rate: number;
  readonly before: number;
  readonly held: number;
  /** The last part of that time, which is compared with the time before it. */
  readonly last: number;
  readonly after: number;
}

export async function heldSnapshot({ name, contender, url, query }: Setting, scenario: HeldSnapshot): Promise<Figures> {
  const delays = new Delays();
  const worker = await workerProcess(name, url, {}, delays.onHandled);
  const recorder = await contender.recorder!(url, 4);
  const each = 10;
  const stop = offer(recorder, { rate: scenario.rate / each, each, clients: 4, onRecorded: delays.onRecorded });
  await sleep(3_000);

  const before = await spell(scenario.before);
  const session = await holdSnapshot(url);
  await sleep((scenario.held - scenario.last) * 1_000);
  const last = await spell(scenario.last);
  const dead = await deadRows(query);
  await session.end();
  await sleep(1_000);
  const after = await spell(scenario.after);
  await stop();
  await delays.complete(10_000);

  const rate = ([from, to]: Spell): number => delays.handledBetween(from, to) / ((to - from) / 1_000);
  const p99 = ([from, to]: Spell): number => percentile(delays.between(from, to), 99);
  const figures = {
    before: rate(before),
    'last part': rate(last),
    after: rate(after),
    'p99 before': p99(before),
    'p99 last part': p99(last),
    'p99 after': p99(after),
    'dead rows': dead,
  };
  await worker.stop();
  await recorder.close();
  return figures;
}

type Spell = readonly [from: number, to: number];

async function spell(seconds: number): Promise<Spell> {
  const from = monotonic();
  await sleep(seconds * 1_000);
  return [from, monotonic()];
}

async function holdSnapshot(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await client.query('SELECT count(*) FROM business');
  return client;
}

async function deadRows(query: Query): Promise<number> {
  const [row] = await query<{ dead: number }>('SELECT sum(n_dead_tup)::float8 AS dead FROM pg_stat_user_tables');
  return row!.dead;
}
