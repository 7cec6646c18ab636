import { Client } from 'pg';
import type { Contender, Query } from './contender';
import { graphile } from './graphile';
import { ours } from './ours';
import { peers } from './peers';
import { pgboss } from './pgboss';
import { runScenario, type Scenario } from './scenarios';

// One contender runs one scenario in a fresh database and prints what it reached: node child.js <contender> <url> <scenario as JSON>

const contenders: Record<string, () => Contender> = {
  ours: () => ours,
  'pg-boss': () => pgboss(peers()),
  'graphile-worker': () => graphile(peers(), true),
  'graphile-worker, no local queue': () => graphile(peers(), false),
};

async function main(): Promise<void> {
  const [name, url, scenario] = process.argv.slice(2) as [string, string, string];
  const client = new Client({ connectionString: url });
  await client.connect();
  const query: Query = async (text, values) => (await client.query(text, values)).rows;
  const figure = await runScenario(contenders[name]!(), JSON.parse(scenario) as Scenario, url, query);
  await client.end();
  process.stdout.write(`${JSON.stringify({ figure })}\n`);
  process.exit(0);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
});
