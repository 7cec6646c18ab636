import type { DeliveryConditions, DeliveryFilter } from 'nest-deliveries';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { fillTable, insertDeliveries, quiet } from './support/table';

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Sort Method'?: string;
  readonly Plans?: readonly Node[];
}

/**
 * What a statement did: which tables it read from end to end, how many rows it sorted at most, how many it looked at, and how many it
 * met in an index alone, which takes an eighth of the time.
 */
interface Work {
  readonly scans: string[];
  readonly sorted: number;
  readonly looked: number;
  readonly met: number;
}

let database: TestDatabase;
let app: DeliveriesApp;

beforeAll(async () => {
  database = await createTestDatabase();
  app = await startDeliveriesApp(database.url, [scriptedChannel({ name: 'mail', maxAge: '1d' }).type], quiet);
  await fillTable(database);
}, 60_000);

afterAll(async () => {
  await app.close();
  await database.drop();
});

/** Runs a read and plays each of its statements again with EXPLAIN ANALYZE, under the same settings. */
async function workOf(read: () => Promise<unknown>): Promise<Work> {
  const statements: { text: string; values: unknown }[] = [];
  const spy = jest.spyOn(PostgresQueryRunner.prototype, 'query');
  await read();
  statements.push(...spy.mock.calls.map(([text, values]) => ({ text, values })));
  spy.mockRestore();
  const work = { scans: [] as string[], sorted: 0, looked: 0, met: 0 };
  const add = (node: Node): void => {
    const rows = node['Actual Rows'] * node['Actual Loops'];
    if (node['Node Type'] === 'Seq Scan') work.scans.push(node['Relation Name']!);
    // The first few of many: only those are kept meanwhile.
    const kept = node['Sort Method'] === 'top-N heapsort' ? node : node.Plans?.[0];
    if (/Sort/.test(node['Node Type'])) work.sorted = Math.max(work.sorted, kept!['Actual Rows']);
    const how = node['Node Type'] === 'Index Only Scan' ? 'met' : 'looked';
    if (node['Relation Name']) work[how] += rows + (node['Rows Removed by Filter'] ?? 0) * node['Actual Loops'];
    node.Plans?.forEach(add);
  };
  await app.dataSource.transaction(async (tx) => {
    for (const { text, values } of statements) {
      if (/^\s*(SET|SELECT set_config)/.test(text)) await tx.query(text);
      if (!/^\s*(WITH|SELECT)/.test(text)) continue;
      const [row] = await tx.query<[{ 'QUERY PLAN': [{ Plan: Node }] }]>(
        `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`,
        values as unknown[],
      );
      add(row['QUERY PLAN'][0].Plan);
    }
  });
  return work;
}

/** The four statuses of two channels, each with a page; what else there is to sort is a handful of pairs. */
const pages = (limit: number): number => 8 * (limit + 1);
/** Pending deliveries that are met before they are a crowd, and probes for pairs. */
const crowd = 5_001 + 30;

describe('a page', () => {
  const ago = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);
  const filters: [string, DeliveryFilter][] = [
    ['everything', {}],
    ['what is pending', { status: 'pending' }],
    ['what is pending in a channel that has three among thousands', { status: 'pending', channel: 'rare' }],
    ['what failed', { status: 'failed' }],
    ['what failed in a channel', { status: 'failed', channel: 'mail' }],
    [
      'what failed yesterday, by channel and error',
      { status: 'failed', channel: 'mail', error: '418', olderThan: '1h' },
    ],
    ['what failed by an error that is rare', { status: 'failed', error: '418' }],
    ['what had an error', { error: '418' }],
    ['what failed to a destination', { status: 'failed', destination: 'customer 7' }],
    ['what failed in a lane', { status: 'failed', lane: 'lane 7' }],
    ['what waits in a key', { status: 'pending', orderingKey: 'key 3' }],
    [
      'what succeeded in a channel, by age',
      { status: 'succeeded', channel: 'mail', createdAfter: ago(3), createdBefore: ago(2) },
    ],
  ];

  it.each(filters)('of %s costs a page, whatever there is', async (_, filter) => {
    const { scans, sorted, looked, met } = await workOf(() => app.operations.list({ limit: 50, ...filter }));
    expect(scans).toEqual([]);
    expect(met).toBeLessThanOrEqual(crowd);
    expect(sorted).toBeLessThanOrEqual(pages(50));
    // Probes for the pairs, a page of each pair, and the rows of the page itself.
    expect(looked).toBeLessThanOrEqual(pages(50) + 51 + 50);
  });

  it('far down costs what the first one costs', async () => {
    const first = await app.operations.list({ limit: 1_000 });
    const third = await app.operations.list({ limit: 1_000, after: first.next! });
    const { scans, looked } = await workOf(() => app.operations.list({ limit: 50, after: third.next! }));
    expect(scans).toEqual([]);
    expect(looked).toBeLessThanOrEqual(pages(50) + 51 + 50);
  });

  it('of what no index serves looks at so many rows, says how far it came, and goes on from there', async () => {
    const conditions = { status: 'succeeded', destination: 'customer 7', orderingKey: 'key 7' } as const;
    const { scans, sorted, looked } = await workOf(() => app.operations.list(conditions));
    expect(scans).toEqual([]);
    expect(sorted).toBeLessThanOrEqual(pages(100));
    expect(looked).toBeLessThan(6_000);
    const seen: string[] = [];
    let after: string | undefined;
    let early = 0;
    do {
      const page = await app.operations.list({ ...conditions, limit: 7, ...(after === undefined ? {} : { after }) });
      seen.push(...page.deliveries.map(({ id }) => id));
      after = page.next;
      if (page.searchedTo !== null) early += 1;
    } while (after !== undefined);
    const all = await database.query<{ id: string }>(
      `SELECT id FROM deliveries.deliveries WHERE status = 'succeeded' AND destination = 'customer 7' AND ordering_key = 'key 7'
        ORDER BY created_at DESC, id DESC`,
    );
    expect(seen).toHaveLength(20);
    expect(seen).toEqual(all.map(({ id }) => id));
    expect(early).toBeGreaterThan(0);
  });

  it('pages without a gap or a double where the search ends at another age in each status', async () => {
    const seen: string[] = [];
    let after: string | undefined;
    do {
      const conditions = { orderingKey: 'key 3', destination: 'customer 3', limit: 30 };
      const page = await app.operations.list({ ...conditions, ...(after === undefined ? {} : { after }) });
      seen.push(...page.deliveries.map(({ id }) => id));
      after = page.next;
    } while (after !== undefined);
    const all = await database.query<{ id: string; status: string }>(
      `SELECT id, status FROM deliveries.deliveries WHERE ordering_key = 'key 3' AND destination = 'customer 3'
        ORDER BY created_at DESC, id DESC`,
    );
    expect(new Set(all.map(({ status }) => status))).toEqual(new Set(['pending', 'succeeded', 'cancelled']));
    expect(seen).toEqual(all.map(({ id }) => id));
  });
});

describe('what is pending', () => {
  const idsOf = async (conditions: DeliveryFilter): Promise<{ ids: string[]; early: number }> => {
    const ids: string[] = [];
    let after: string | undefined;
    let early = 0;
    do {
      const page = await app.operations.list({ ...conditions, ...(after === undefined ? {} : { after }) });
      ids.push(...page.deliveries.map(({ id }) => id));
      after = page.next;
      if (page.searchedTo !== null) early += 1;
    } while (after !== undefined);
    return { ids, early };
  };
  const all = async (where: string, order: string): Promise<string[]> => {
    const rows = await database.query<{ id: string }>(
      `SELECT id FROM deliveries.deliveries WHERE ${where} ORDER BY ${order}`,
    );
    return rows.map(({ id }) => id);
  };

  it('is sorted by age when it is not a crowd, whatever waits in whichever index, being sent or not', async () => {
    await insertDeliveries(database, { count: 30, channel: 'few', status: 'pending', age: "n % 7 * interval '1 min'" });
    await insertDeliveries(database, { count: 30, channel: 'few', status: 'pending', lane: "'lane ' || n % 4" });
    await insertDeliveries(database, { count: 30, channel: 'few', status: 'pending', key: "'few ' || n % 4" });
    await insertDeliveries(database, { count: 30, channel: 'few' });
    await database.query(
      `UPDATE deliveries.deliveries SET claim_token = gen_random_uuid(), lease_expires_at = now(), due_at = now() + interval '1 min'
        WHERE channel = 'few' AND status = 'pending' AND destination = ANY ($1) AND ordering_key IS NULL`,
      [['customer 3', 'customer 4']],
    );
    const ordered = await all("channel = 'few' AND status = 'pending'", 'created_at DESC, id DESC');
    expect(ordered).toHaveLength(90);
    expect(await idsOf({ channel: 'few', status: 'pending', limit: 7 })).toEqual({ ids: ordered, early: 0 });
    expect((await idsOf({ channel: 'few', limit: 7 })).ids).toEqual(
      await all("channel = 'few'", 'created_at DESC, id DESC'),
    );
    const rest = { channel: 'few', status: 'pending', destination: 'customer 3', limit: 2 } as const;
    expect((await idsOf(rest)).ids).toHaveLength(3);
    await database.query("DELETE FROM deliveries.deliveries WHERE channel = 'few'");
  });

  it('is walked through by id when it is a crowd, without a gap or a double', async () => {
    const { ids, early } = await idsOf({ status: 'pending', limit: 1_000 });
    expect(ids).toEqual(await all("status = 'pending'", 'id DESC'));
    expect(ids).toHaveLength(6_003);
    expect(early).toBeGreaterThan(0);
    const span = { createdAfter: new Date(Date.now() - 600_000), createdBefore: new Date(Date.now() - 300_000) };
    const between = `status = 'pending' AND created_at >= '${span.createdAfter.toISOString()}' AND created_at < '${span.createdBefore.toISOString()}'`;
    expect((await idsOf({ status: 'pending', limit: 99, ...span })).ids).toEqual(await all(between, 'id DESC'));
  });

  it('ends as the walk that it began as: neither a list nor a cancel of all leaves out what is the other way round by age', async () => {
    const crowded = { channel: 'crowded', status: 'pending' } as const;
    await insertDeliveries(database, { count: 5_100, ...crowded, age: "(interval '1 min' + n * interval '1 s')" });
    // By id each other one is half a second older than by age.
    await database.query(
      `UPDATE deliveries.deliveries SET created_at = created_at + CASE WHEN right(destination, 1) IN ('1', '3', '5', '7', '9')
              THEN interval '1.5 s' ELSE interval '0 s' END WHERE channel = 'crowded'`,
    );
    const ids = await all("channel = 'crowded'", 'id DESC');
    const first = await app.operations.list({ ...crowded, limit: 200 });
    const begun = await app.operations.cancelMatching(crowded, { actor: 'test', limit: 200 });
    expect(await app.operations.count(crowded)).toEqual({ count: 4_900, capped: false });
    const second = await app.operations.list({ ...crowded, limit: 200, after: first.next! });
    expect(second.deliveries.map(({ id }) => id)).toEqual(ids.slice(200, 400));
    await app.operations.cancelMatching(crowded, { actor: 'test', after: begun.next! });
    expect(await app.operations.count(crowded)).toEqual({ count: 0, capped: false });
    await database.query("DELETE FROM deliveries.deliveries WHERE channel = 'crowded'");
  });

  it('is found at once below all that ended since, when it is a crowd', async () => {
    await insertDeliveries(database, {
      count: 5_100,
      channel: 'held',
      status: 'pending',
      age: "interval '1 day' + n * interval '1 ms'",
    });
    const first = await app.operations.list({ status: 'pending', channel: 'held', limit: 50 });
    expect(first.deliveries.map(({ id }) => id)).toEqual((await all("channel = 'held'", 'id DESC')).slice(0, 50));
    const { ids } = await idsOf({ status: 'pending', channel: 'held', destination: 'customer 7', limit: 40 });
    expect(ids).toEqual(await all("channel = 'held' AND destination = 'customer 7'", 'id DESC'));
    await database.query("DELETE FROM deliveries.deliveries WHERE channel = 'held'");
  });
});

describe('a count', () => {
  const counts: [string, DeliveryConditions, number, boolean][] = [
    ['everything', {}, 10_000, true],
    ['what is pending', { status: 'pending' }, 6_003, false],
    ['what succeeded', { status: 'succeeded' }, 10_000, true],
    ['what failed by a rare error', { status: 'failed', error: '418' }, 3, false],
    ['what failed to a destination', { status: 'failed', destination: 'customer 7' }, 30, false],
    ['what is pending for a destination', { status: 'pending', destination: 'customer 7' }, 60, false],
  ];

  it.each(counts)('of %s stops at its cap and reads no table', async (_, conditions, count, capped) => {
    expect(await app.operations.count(conditions)).toEqual({ count, capped });
    const { scans, sorted, looked, met } = await workOf(() => app.operations.count(conditions));
    expect(scans).toEqual([]);
    expect(sorted).toBeLessThanOrEqual(pages(1));
    expect(looked + met).toBeLessThan(11_000);
  });
});

it('the overview, the chart, the audit trail, a delivery and the pauses read no table from end to end', async () => {
  const id = (await app.operations.list({ status: 'failed', limit: 1 })).deliveries[0]!.id;
  const reads: [string, () => Promise<unknown>, looked: number][] = [
    ['stats', () => app.operations.stats(), 14_000],
    ['throughput', () => app.operations.throughput({ window: '1h' }), 45_000],
    ['audit', () => app.operations.audit(), 101],
    ['audit of an actor', () => app.operations.audit({ actor: 'ops 7' }), 10_000],
    ['audit of a delivery', () => app.operations.audit({ deliveryId: id }), 10],
    ['show', () => app.operations.show(id), 20],
  ];
  for (const [name, read, most] of reads) {
    const { scans, sorted, ...rows } = await workOf(read);
    const looked = rows.looked + rows.met;
    expect({ name, scans: scans.filter((table) => table !== 'delivery_pauses') }).toEqual({ name, scans: [] });
    expect({ name, fits: looked <= most, looked }).toEqual({ name, fits: true, looked });
    expect({ name, sorted: sorted <= 100 }).toEqual({ name, sorted: true });
  }
});
