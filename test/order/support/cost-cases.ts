import { insertKeys, insertUnordered } from './crowd';
import { type Cost, type Meter, meter } from './cost';

/** How much there is beside what is claimed. */
export interface Sizes {
  /** Deliveries that wait behind the head of one key. */
  readonly waiting: number;
  /** Keys with 20 deliveries each. */
  readonly keys: number;
  /** Deliveries that wait behind each of 1,000 failed heads. */
  readonly behindFailed: number;
  /** Deliveries that are scheduled for later. */
  readonly scheduled: number;
}

type Fill = (meter: Meter) => Promise<void>;

/** An index three levels deep, the heap, and room for one level more. */
const buffersForAKey = 5;

/** A claim costs what is ready, not what exists: at most twice the buffers for each row of a table that holds nothing else. */
export function testCosts({ waiting, keys, behindFailed, scheduled }: Sizes): void {
  let alone: Meter;
  let crowded: Meter;

  beforeEach(async () => {
    [alone, crowded] = await Promise.all([meter(), meter()]);
  });

  afterEach(async () => {
    await Promise.all([alone.close(), crowded.close()]);
  });

  const keyed =
    (count: number, each: number): Fill =>
    ({ database }) =>
      insertKeys(database, { keys: count, prefix: 'k', each });
  const claimed =
    (fill: Fill): Fill =>
    async (at) => {
      await fill(at);
      await at.database.query(
        `UPDATE deliveries.deliveries SET claim_token = gen_random_uuid(), attempts = 1, lease_expires_at = clock_timestamp() + interval '1 hour'
          WHERE ordinal = 1 AND ordering_key <= 'k000010'`,
      );
    };
  const stuckKeys: Fill = ({ database }) =>
    insertKeys(database, { keys: 1_000, prefix: 'k', each: behindFailed + 1, status: 'failed' });
  const readyUnordered =
    (count: number): Fill =>
    ({ database }) =>
      insertUnordered(database, count);

  const heads = (at: Meter): Promise<Cost> => at.heads(10);
  const claim = (at: Meter): Promise<Cost> => at.claim(10);
  const lanes = (at: Meter): Promise<Cost> => at.lanes(10, 'm');
  const inLanes: Fill = ({ database }) =>
    insertUnordered(database, 400, { lane: `CASE n % 2 WHEN 0 THEN 'f' ELSE 'z' END || n % 200` });
  const settle = (at: Meter): Promise<Cost> => at.settle();

  it.each<[name: string, rows: number, statement: (at: Meter) => Promise<Cost>, few: Fill, many: Fill]>([
    [`the claim of a head with ${waiting} waiting behind it`, 1, heads, keyed(1, 1), keyed(1, waiting)],
    [`its settle, which claims the next`, 2, settle, claimed(keyed(1, 2)), claimed(keyed(1, waiting))],
    [`the claim of 10 heads among ${keys} keys of 20`, 10, heads, keyed(10, 1), keyed(keys, 20)],
    ['their settle, which claims the next of each', 20, settle, claimed(keyed(10, 2)), claimed(keyed(keys, 20))],
    [
      `the claim of what has no key behind 1,000 failed heads with ${behindFailed} waiting each`,
      10,
      claim,
      readyUnordered(1_000),
      async (at) => {
        await stuckKeys(at);
        await readyUnordered(1_000)(at);
      },
    ],
    [
      `the claim from 200 lanes beside one that has its share and ${waiting} waiting`,
      10,
      lanes,
      inLanes,
      async (at) => {
        await insertUnordered(at.database, waiting, { lane: `'m'` });
        await inLanes(at);
      },
    ],
    [
      `the claim of what is due beside ${scheduled} that are scheduled for later`,
      10,
      claim,
      readyUnordered(10),
      async (at) => {
        await insertUnordered(at.database, scheduled, { due: '1 hour' });
        await readyUnordered(10)(at);
      },
    ],
    [`the claim of 10 among ${scheduled} that are due`, 10, claim, readyUnordered(10), readyUnordered(scheduled)],
    [
      `the claim of 2 of a lane in which ${scheduled} are due`,
      2,
      lanes,
      ({ database }) => insertUnordered(database, 10, { lane: `'a'` }),
      ({ database }) => insertUnordered(database, scheduled, { lane: `'a'` }),
    ],
  ])('%s', async (_, rows, statement, few, many) => {
    await Promise.all([few(alone), many(crowded)]);
    const { perRow: single } = await statement(alone);
    // The plan for these parameters, without statistics; the plan for any; and the same with statistics.
    for (const prepare of ['', 'plan', 'analyze']) {
      if (prepare === 'analyze') await crowded.database.query('VACUUM ANALYZE deliveries.deliveries');
      if (prepare !== '') await crowded.planNow();
      const cost = await statement(crowded);
      expect(cost.rows).toBe(rows);
      expect(cost.perRow).toBeLessThanOrEqual(2 * single);
    }
  });

  it('the look at 1,000 failed heads is a few buffers for each key, whatever waits behind', async () => {
    await stuckKeys(crowded);
    const { rows, buffers } = await crowded.heads(10);
    expect(rows).toBe(0);
    expect(buffers).toBeLessThanOrEqual(1_000 * buffersForAKey);
  });

  // A table that was analyzed when it was empty counts as one row: then any way to that row is as cheap as any other.
  it.each<[string, (at: Meter) => Promise<void>]>([
    ['a small table', (at) => keyed(10, 2)(at)],
    [
      'a table that was known to be empty',
      async ({ database }) => void (await database.query('VACUUM ANALYZE deliveries.deliveries')),
    ],
  ])('plans that were made for %s serve when it has grown', async (_, before) => {
    const few = async (at: Meter): Promise<void> => {
      await keyed(10, 2)(at);
      await readyUnordered(10)(at);
      await inLanes(at);
    };
    await Promise.all([few(alone), before(crowded)]);
    await crowded.planNow();
    await crowded.database.query('DELETE FROM deliveries.deliveries');
    // What is due is at the end of the table.
    await insertUnordered(crowded.database, scheduled, { status: 'succeeded' });
    await few(crowded);
    const compare = async (...statements: ((at: Meter) => Promise<Cost>)[]): Promise<void> => {
      for (const statement of statements) {
        const [single, beside] = [await statement(alone), await statement(crowded)];
        expect(beside.rows).toBe(single.rows);
        expect(beside.perRow).toBeLessThanOrEqual(2 * single.perRow);
      }
    };
    await compare(claim, heads, lanes);
    await Promise.all([claimed(() => Promise.resolve())(alone), claimed(() => Promise.resolve())(crowded)]);
    await compare(
      settle,
      (at) => at.settleSuccesses(),
      (at) => at.giveBack(),
    );
  });
}
