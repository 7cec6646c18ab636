import { runTs } from '../support/ts-child';
import type { Findings } from './canaries.child';

/** Plays the demonstration in a process of its own, on the tests' server, and looks for the canaries of its webhooks. */
export async function findings(part: 'webhooks' | 'whole'): Promise<Findings> {
  const { code, stdout } = await runTs('test/demo/canaries.child.ts', {
    args: [part],
    env: { DATABASE_URL: process.env.TEST_PG_ADMIN_URL, NODE_ENV: undefined },
  });
  if (code !== 0) throw new Error(stdout);
  return JSON.parse(stdout) as Findings;
}

/** What is found when nothing is. */
export const nothing = { tables: [], log: [], replicas: [], metrics: [], objects: [] };

/** Of what too little was looked at to say that there is nothing; and whether the search finds what is there, in what went out. */
export function tooLittle({ looked, arrivals }: Findings): string[] {
  const seen = {
    'messages that arrived': arrivals.filter((name) => name.startsWith('message ')).length,
    'signatures that arrived': arrivals.filter((name) => name.startsWith('signature ')).length,
    ...looked,
  };
  const least = {
    'messages that arrived': 9,
    'signatures that arrived': 9,
    canaries: 30,
    rows: 20,
    objects: 100,
    lines: 10,
  };
  return Object.entries(least).flatMap(([what, count]) => {
    const found = seen[what as keyof typeof least];
    return found < count ? [`${found} ${what}`] : [];
  });
}
