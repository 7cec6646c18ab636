import { ObserverDatabase } from '../../../libs/deliveries/src/observe/observer-database';
import { pendingSql } from '../../../libs/deliveries/src/observe/pending.sql';
import type { DeliveriesApp } from '../../support/deliveries-app';
import type { TestDatabase } from '../../support/test-database';
import { vacuum } from '../../support/vacuum';

/** The indexes that a count goes through. */
export const countedIndexes = [
  'deliveries_due_idx',
  'deliveries_lanes_idx',
  'deliveries_unfinished_idx',
  'delivery_pauses_pkey',
];

/** So many rows of channel `mail`, three quarters of them pending: half with a key, a third in lanes; and a vacuum. */
export async function fillPending(database: TestDatabase, rows: number): Promise<void> {
  // The vacuum would have to wait for the disk otherwise.
  await database.query('SET synchronous_commit TO on');
  await database.query(
    `INSERT INTO deliveries.deliveries (id, event_id, channel, destination, payload, status, ordering_key, ordinal, due_at, created_at, settled_at, lane)
     SELECT gen_random_uuid(), gen_random_uuid(), 'mail', 'd', '{}', CASE WHEN n % 4 = 0 THEN 'succeeded' ELSE 'pending' END,
            CASE WHEN n % 2 = 0 THEN 'key ' || n % 1000 END, CASE WHEN n % 2 = 0 THEN n END, now(), now(),
            CASE WHEN n % 4 = 0 THEN now() END, CASE WHEN n % 3 = 0 THEN 'lane ' || n % 10 ELSE '' END
       FROM generate_series(1, $1) n`,
    [rows],
  );
  await vacuum(database);
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

/** Which indexes the count goes through, and how many buffers it looks at. */
export async function planOfCount(
  app: DeliveriesApp,
  channel: string,
): Promise<{ indexes: string[]; types: string[]; buffers: number; ms: number }> {
  const text = pendingSql('deliveries').replaceAll('$1', `'${channel}'`);
  const [rows] = await app.module
    .get(ObserverDatabase)
    .read<{ 'QUERY PLAN': [{ Plan: PlanNode; 'Execution Time': number }] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
      [],
      60_000,
    );
  const [{ Plan: root, 'Execution Time': ms }] = rows!['QUERY PLAN'];
  const nodes: PlanNode[] = [];
  const visit = (node: PlanNode): void => {
    nodes.push(node);
    node.Plans?.forEach(visit);
  };
  visit(root);
  return {
    indexes: [...new Set(nodes.flatMap((node) => node['Index Name'] ?? []))].toSorted(),
    types: nodes.map((node) => node['Node Type']),
    buffers: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
    ms,
  };
}
