import { setTimeout as sleep } from 'node:timers/promises';
import { listenToSends, serveBench } from '../admin/application';
import { addDue, fill, isDrained, withClient, type Filling } from '../admin/fill';
import { openTabs, p95, someFailed, visit, visits, waits } from '../admin/visits';
import { ratio, rounded, takeTurns, type Figures, type Measurement, type Part, type Run } from '../part';

const tables: Readonly<Record<'small' | 'large', Filling>> = {
  small: { succeeded: 800, pending: 160, failed: 40 },
  large: { succeeded: 1_000_000, pending: 200_000, failed: 50_000 },
};
const fifth: Filling = { succeeded: 200_000, pending: 40_000, failed: 10_000 };

const names = ['small', 'large'] as const;
type Urls = Readonly<Record<(typeof names)[number], string>>;

const beside = 'draining in the large table';

/** What operators look at, on a small table and on a large one, and what it costs the workers. */
export const adminPart: Part = {
  name: 'admin',
  about: 'pages and calls of operators, on a table of 1,000 and on a large one; workers beside an open dashboard',
  async run(run) {
    const { url } = await run.stage();
    const databases = await makeDatabases(url);
    try {
      const pages = await measurePages(run, databases);
      const drains = await measureDrains(run, databases.large);
      const slowdown = (name: string): number => ratio(pages, name, 'p95', 'small', 'large');
      const usual = visits.filter(({ kept }) => kept !== 'first look');
      return {
        measured: [...pages, ...drains],
        ratios: {
          admin_pages: Math.min(...usual.map(({ name }) => slowdown(name))),
          admin_first_look: slowdown('overview, first look'),
          admin_workers: ratio(drains, beside, 'rate', 'dashboard open', 'alone'),
        },
      };
    } finally {
      await dropDatabases(url);
    }
  },
};

const nameOf = (table: string): string => `bench_admin_${table}`;

async function makeDatabases(adminUrl: string): Promise<Urls> {
  await dropDatabases(adminUrl);
  await withClient(adminUrl, async (client) => {
    for (const table of names) await client.query(`CREATE DATABASE ${nameOf(table)}`);
  });
  const urlOf = (table: string): string => Object.assign(new URL(adminUrl), { pathname: `/${nameOf(table)}` }).href;
  return { small: urlOf('small'), large: urlOf('large') };
}

const dropDatabases = (adminUrl: string): Promise<void> =>
  withClient(adminUrl, async (client) => {
    for (const table of names) await client.query(`DROP DATABASE IF EXISTS ${nameOf(table)} WITH (FORCE)`);
  });

async function measurePages(run: Run, databases: Urls): Promise<Measurement[]> {
  const served = { small: await serveBench(databases.small, 0), large: await serveBench(databases.large, 0) };
  try {
    await fill(databases.small, tables.small);
    await fill(databases.large, run.quick ? fifth : tables.large);
    run.progress('both tables are filled');
    const failed = { small: await someFailed(served.small.url), large: await someFailed(served.large.url) };
    const measured: Measurement[] = [];
    for (const { name, path, kept } of visits) {
      const times: Record<(typeof names)[number], number[]> = { small: [], large: [] };
      const turns =
        kept === undefined ? run.rounds(20, 60) : kept === 'open page' ? run.rounds(5, 20) : run.rounds(2, 5);
      // Small, large, small, large …, so that whatever else the machine does meets both; the first turn warms up.
      for (let turn = 0; turn <= turns; turn++) {
        if (kept !== undefined) await sleep(waits[kept]);
        for (const table of names) {
          const took = await visit(served[table].url + path.replace('{failed}', failed[table]));
          if (turn > 0) times[table].push(took);
        }
      }
      measured.push(...names.map((table) => p95(name, table, times[table])));
      const [small, large] = measured.slice(-2).map(({ median }) => rounded(median));
      run.progress(`${name}: 95 of 100 within ${small} ms, and ${large} ms on the large table`);
    }
    return measured;
  } finally {
    await Promise.all([served.small.close(), served.large.close()]);
  }
}

function measureDrains(run: Run, url: string): Promise<Measurement[]> {
  const count = run.quick ? 40_000 : 150_000;
  return takeTurns(
    {
      what: beside,
      units: { rate: '/s' },
      contenders: {
        alone: () => drain(url, count, []),
        'dashboard open': () => drain(url, count, ['overview', 'deliveries', 'deliveries?status=failed']),
      },
      rounds: run.rounds(3, 5),
    },
    run,
  );
}

/** From the first send to the last settlement. @param tabs pages that operators have open */
async function drain(url: string, count: number, tabs: readonly string[]): Promise<Figures> {
  await addDue(url, count);
  let began = 0;
  listenToSends(() => (began ||= performance.now()));
  const served = await serveBench(url, 1);
  const closeTabs = openTabs(tabs.map((tab) => served.url + tab));
  try {
    await withClient(url, async (client) => {
      while (!(await isDrained(client))) await sleep(5);
    });
    return { rate: count / ((performance.now() - began) / 1_000) };
  } finally {
    await closeTabs();
    await served.close();
  }
}
