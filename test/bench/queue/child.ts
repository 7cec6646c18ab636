import { Client } from 'pg';
import type { Contender, Query } from './contender';
import { graphile } from './graphile';
import { ours, oursByList, oursLogging } from './ours/ours';
import { plainInsert } from './ours/plain-insert';
import { webhooks } from './ours/webhooks';
import { peers } from './peers';
import { pgboss } from './pgboss';
import { prepare, type Preparation } from './preparation';
import { runScenario, type Scenario } from './scenarios/scenario';
import { runWorkerProcess, type WorkerOrder } from './worker-process';

// One contender does one thing: node child.js prepare|measure|work <contender> <url> <order as JSON>
// What it found goes to the parent over the IPC channel; its output is a log.

const contenders: Record<string, () => Contender> = {
  ours: () => ours,
  'ours, successes logged': () => oursLogging,
  'ours, a list': () => oursByList,
  'ours, webhooks': () => webhooks,
  'plain INSERT': () => plainInsert,
  'pg-boss': () => pgboss(peers(), false),
  'pg-boss, notify': () => pgboss(peers(), true),
  'graphile-worker': () => graphile(peers(), true),
  'graphile-worker, no local queue': () => graphile(peers(), false),
};

async function main(): Promise<void> {
  const [role, name, url, order] = process.argv.slice(2) as [string, string, string, string];
  const contender = contenders[name]!();
  if (role === 'work') return runWorkerProcess(contender, url, JSON.parse(order) as WorkerOrder);
  const client = new Client({ connectionString: url });
  await client.connect();
  const query: Query = async (text, values) => (await client.query(text, values)).rows;
  if (role === 'prepare') await prepare(contender, JSON.parse(order) as Preparation, url, query);
  else process.send!(await runScenario({ name, contender, url, query }, JSON.parse(order) as Scenario));
  await client.end();
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    process.exit(1);
  },
);
