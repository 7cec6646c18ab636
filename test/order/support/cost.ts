import { giveBackSql } from '../../../libs/deliveries/src/claim/claim.sql';
import { Claimer } from '../../../libs/deliveries/src/claim/claimer';
import { WorkerDatabase } from '../../../libs/deliveries/src/database/worker-database';
import type { OutcomeToWrite } from '../../../libs/deliveries/src/settle/settle-statement';
import { Settler } from '../../../libs/deliveries/src/settle/settler';
import { settled } from '../../support/settled';
import { createTestDatabase, type TestDatabase } from '../../support/test-database';

/** What a statement cost: buffers of the whole statement, for each row that it claimed or settled. */
export interface Cost {
  readonly rows: number;
  readonly perRow: number;
  readonly buffers: number;
}

interface Plan {
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Actual Rows': number;
}

/**
 * A worker's one connection, and the statements that the worker prepared on it: what is measured is the very statement, with the
 * plan that the connection has for it. Each measurement is rolled back.
 */
export interface Meter {
  readonly database: TestDatabase;
  claim(slots: number): Promise<Cost>;
  heads(slots: number, cursor?: string): Promise<Cost>;
  /** @param busy lanes that have no more free, and that every other lane may have two */
  lanes(slots: number, busy: string): Promise<Cost>;
  /** Settles the claimed deliveries as succeeded, with the chain. */
  settle(): Promise<Cost>;
  /** The same by the statement for plain successes. */
  settleSuccesses(): Promise<Cost>;
  giveBack(): Promise<Cost>;
  /** Runs each statement until the connection has a plan for all parameters, made for the table as it is now. */
  planNow(): Promise<void>;
  close(): Promise<void>;
}

const lease = 60_000;
const anyToken = '00000000-0000-4000-8000-000000000001';

export async function meter(): Promise<Meter> {
  const database = await createTestDatabase();
  const worker = new WorkerDatabase({ connectionString: database.url, max: 1, idleTimeoutMillis: 0 });
  const claimer = new Claimer(worker, '"deliveries"');
  const settler = new Settler(worker, '"deliveries"');
  let statements = 0;
  const run = <Row extends object>(text: string): Promise<Row[]> => {
    statements += 1;
    return worker.query<Row>(`measured_${statements}`, text, []);
  };

  const prepare = async (): Promise<void> => {
    const nobody = { id: '00000000-0000-0000-0000-000000000000', token: '00000000-0000-0000-0000-000000000000' };
    const outcome = {
      ...nobody,
      attempt: 1,
      settlement: { status: 'succeeded' },
      startedAt: 0,
      giveUpAt: Infinity,
    } as const;
    await claimer.claim('nobody', 1, lease, 0);
    await claimer.claimLanes('nobody', 1, lease, '', { free: new Map([['none', 1]]), others: 1 });
    await claimer.claimHeads('nobody', 1, lease, { key: '', fromStart: true });
    await settled(settler, { ...outcome, chainLease: lease } satisfies OutcomeToWrite);
    await settled(settler, outcome satisfies OutcomeToWrite);
    await worker.query('deliveries_give_back', giveBackSql('"deliveries"'), [[nobody.id], [nobody.token], [0]]);
  };
  await prepare();

  const measure = async (execute: string): Promise<Cost> => {
    await run('BEGIN');
    const [row] = await run<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE ${execute}`,
    );
    const written = await run<{ count: number }>(
      `SELECT count(*)::integer AS count FROM deliveries.deliveries WHERE xmin = pg_current_xact_id()::xid`,
    );
    await run('ROLLBACK');
    const { Plan: plan } = row!['QUERY PLAN'][0];
    const buffers = plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    const rows = written[0]!.count;
    return { rows, buffers, perRow: buffers / Math.max(1, rows) };
  };

  /** The claimed deliveries as parameters. */
  const claimed = async () => {
    const rows = await database.query<{ id: string; token: string }>(
      'SELECT id, claim_token AS token FROM deliveries.deliveries WHERE claim_token IS NOT NULL',
    );
    const list = (value: (row: { id: string; token: string }) => string, type: string): string =>
      `ARRAY[${rows.map(value).join()}]::${type}[]`;
    return { list, fence: `${list(({ id }) => `'${id}'`, 'uuid')}, ${list(({ token }) => `'${token}'`, 'uuid')}` };
  };

  return {
    database,
    claim: (slots) => measure(`deliveries_claim('parcels', ${slots}, ${lease}, 0, '${anyToken}')`),
    heads: (slots, cursor = '') =>
      measure(`deliveries_heads('parcels', ${slots}, ${lease}, '${cursor}', 1000, '${anyToken}')`),
    lanes: (slots, busy) =>
      measure(
        `deliveries_claim_lanes('parcels', ${slots}, ${lease}, '', 1000, ARRAY['${busy}']::text[], ARRAY[0]::integer[], 2, '${anyToken}')`,
      ),
    settle: async () => {
      const { fence, list } = await claimed();
      return measure(`deliveries_settle(${fence},
        ${list(() => `'succeeded'`, 'text')}, ${list(() => 'NULL', 'float8')}, ${list(() => 'NULL', 'text')},
        ${list(() => 'NULL', 'text')}, ${list(() => 'NULL', 'timestamptz')}, ${list(() => String(lease), 'float8')},
        ${list(() => 'false', 'boolean')}, '${anyToken}')`);
    },
    settleSuccesses: async () => measure(`deliveries_settle_successes(${(await claimed()).fence})`),
    giveBack: async () => {
      const { fence, list } = await claimed();
      return measure(`deliveries_give_back(${fence}, ${list(() => '0', 'float8')})`);
    },
    // From the sixth run on PostgreSQL may keep one plan for all parameters.
    planNow: async () => {
      for (let times = 0; times < 8; times += 1) await prepare();
    },
    close: async () => {
      await worker.close();
      await database.drop();
    },
  };
}
