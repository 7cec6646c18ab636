import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Client } from 'pg';
import { startEmbeddedPostgres } from '../../../src/embedded-postgres';
import { ratio, takeTurns, type Bench, type BenchOptions, type Contenders, type Measurement } from '../bench';
import { installPeers, type Peers } from './peers';
import type { Scenario } from './scenarios';

/** A server with durability on, as in production, or the one that `BENCH_DATABASE_URL` names. */
async function withServer<T>(work: (url: string) => Promise<T>): Promise<T> {
  const own = process.env.BENCH_DATABASE_URL;
  if (own) return work(own);
  const settings = {
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    shared_buffers: '1GB',
    max_wal_size: '8GB',
    max_connections: '200',
  };
  const server = await startEmbeddedPostgres({ settings });
  try {
    return await work(server.url);
  } finally {
    await server.stop();
  }
}

interface Line {
  readonly what: string;
  readonly contenders: Readonly<Record<string, { readonly as: string; readonly scenario: Scenario }>>;
}

const drain40k: Scenario = { kind: 'drain', count: 40_000 };
const one: Scenario = { kind: 'drain', count: 10_000, concurrency: 24, sendMs: 1 };
const record: Scenario = { kind: 'record', count: 10_000, clients: 8 };
const bulk: Scenario = { kind: 'bulk', count: 100_000 };
const keyed = (keys: number, count: number): Scenario => ({ kind: 'drain', count, keys, seconds: 15 });

const alone = (scenario: Scenario): Line['contenders'] => ({ ours: { as: 'ours', scenario } });
const both = (scenario: Scenario): Line['contenders'] => ({
  ...alone(scenario),
  'pg-boss': { as: 'pg-boss', scenario },
  'graphile-worker': { as: 'graphile-worker', scenario },
});

function queueBench(name: string, lines: readonly Line[], ratios: (of: Ratio) => Record<string, number>): Bench {
  return {
    name,
    run: (options) =>
      withServer(async (url) => {
        const peers = installPeers();
        const measured: Measurement[] = [];
        for (const line of lines) measured.push(...(await measureLine(line, peers, url, options)));
        return { measured, ratios: ratios((what, ours, theirs) => ratio(measured, what, ours, theirs)) };
      }),
  };
}

type Ratio = (what: string, ours: string, theirs: string) => number;

function measureLine(line: Line, peers: Peers, url: string, options: BenchOptions): Promise<Measurement[]> {
  const contenders: Contenders = Object.fromEntries(
    Object.entries(line.contenders).map(([name, { as, scenario }]) => [name, () => runChild(peers, as, scenario, url)]),
  );
  return takeTurns(line.what, '/s', contenders, options);
}

/** Each run has a process and a database of its own. */
async function runChild(peers: Peers, contender: string, scenario: Scenario, adminUrl: string): Promise<number> {
  const admin = new Client({ connectionString: adminUrl });
  await admin.connect();
  await admin.query('DROP DATABASE IF EXISTS bench_run WITH (FORCE)');
  await admin.query('CREATE DATABASE bench_run');
  await admin.query('CHECKPOINT');
  await admin.end();
  const url = new URL(adminUrl);
  url.pathname = '/bench_run';
  const child = spawn(peers.node, [join(__dirname, 'child.js'), contender, url.toString(), JSON.stringify(scenario)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  if (code !== 0) throw new Error(`${contender} did not finish ${JSON.stringify(scenario)}`);
  return (JSON.parse(output.trim().split('\n').at(-1)!) as { figure: number }).figure;
}

export const drainBench = queueBench(
  'drain',
  [
    { what: 'drain of 40,000', contenders: both(drain40k) },
    {
      what: 'drain, 24 at a time, 1 ms each',
      contenders: {
        ...alone(one),
        'graphile-worker, no local queue': { as: 'graphile-worker, no local queue', scenario: one },
      },
    },
  ],
  (of) => ({
    drain_vs_pgboss: of('drain of 40,000', 'ours', 'pg-boss'),
    drain_vs_graphile: of('drain of 40,000', 'ours', 'graphile-worker'),
    drain_one_vs_graphile: of('drain, 24 at a time, 1 ms each', 'ours', 'graphile-worker, no local queue'),
  }),
);

export const recordBench = queueBench(
  'record',
  [
    {
      what: 'record, 8 clients',
      contenders: { ...both(record), 'plain INSERT': { as: 'ours', scenario: { ...record, kind: 'insert' } } },
    },
    {
      what: 'bulk record of 100,000',
      contenders: { ...alone(bulk), 'graphile-worker': { as: 'graphile-worker', scenario: bulk } },
    },
  ],
  (of) => ({
    record_vs_pgboss: of('record, 8 clients', 'ours', 'pg-boss'),
    record_vs_graphile: of('record, 8 clients', 'ours', 'graphile-worker'),
    record_overhead: of('record, 8 clients', 'ours', 'plain INSERT'),
    bulk_vs_graphile: of('bulk record of 100,000', 'ours', 'graphile-worker'),
  }),
);

export const orderedBench = queueBench(
  'ordered',
  [
    {
      what: 'ordered, 1 key',
      contenders: { ...alone(keyed(1, 20_000)), 'pg-boss': { as: 'pg-boss', scenario: keyed(1, 20_000) } },
    },
    { what: 'ordered, 100 keys', contenders: both(keyed(100, 20_000)) },
    {
      what: '10,000 keys',
      contenders: {
        ours: { as: 'ours', scenario: keyed(10_000, 40_000) },
        'without keys': { as: 'ours', scenario: drain40k },
      },
    },
    {
      what: 'beside stuck heads',
      contenders: {
        ours: { as: 'ours', scenario: { ...drain40k, stuck: { keys: 1_000, behind: 100 } } },
        'nothing stuck': { as: 'ours', scenario: drain40k },
      },
    },
  ],
  (of) => ({
    ordered_1_vs_pgboss: of('ordered, 1 key', 'ours', 'pg-boss'),
    ordered_100_vs_pgboss: of('ordered, 100 keys', 'ours', 'pg-boss'),
    ordered_100_vs_graphile: of('ordered, 100 keys', 'ours', 'graphile-worker'),
    ordered_10k_vs_unordered: of('10,000 keys', 'ours', 'without keys'),
    stuck_heads: of('beside stuck heads', 'ours', 'nothing stuck'),
  }),
);

export const backlogBench = queueBench(
  'backlog',
  [
    {
      what: 'beside a backlog',
      contenders: {
        none: { as: 'ours', scenario: drain40k },
        '1,000,000 finished': { as: 'ours', scenario: { ...drain40k, history: 1_000_000 } },
        '1,000,000 scheduled': { as: 'ours', scenario: { ...drain40k, scheduled: 1_000_000 } },
      },
    },
  ],
  (of) => ({
    history_1m: of('beside a backlog', '1,000,000 finished', 'none'),
    scheduled_1m: of('beside a backlog', '1,000,000 scheduled', 'none'),
  }),
);
