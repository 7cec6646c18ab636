import { fill, type Beside, type Contender, type Kind, type Query } from './contender';

/** What is in the database before anything is measured. */
export interface Preparation {
  /** Deliveries that are due. */
  readonly backlog?: number;
  /** Ordering keys, over which the backlog is spread evenly. */
  readonly keys?: number;
  /** Lanes, likewise. */
  readonly lanes?: number;
  /** The whole backlog is one lane's, and its numbers are negative. */
  readonly slowLane?: boolean;
  readonly beside?: { readonly what: Beside; readonly count: number };
  readonly recipients?: number;
  /** For {@link Contender.setUp}, when keys come only later. */
  readonly ordered?: boolean;
}

export async function prepare(contender: Contender, given: Preparation, url: string, query: Query): Promise<void> {
  const { backlog = 0, keys, beside, recipients = 0 } = given;
  await contender.setUp(url, { ordered: given.ordered ?? keys !== undefined });
  await query('CREATE TABLE business (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, note text)');
  await query('CREATE TABLE plain (id uuid PRIMARY KEY, payload jsonb)');
  await query('CREATE TABLE recipients (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text NOT NULL)');
  await query(`INSERT INTO recipients (name) SELECT 'account ' || n FROM generate_series(1, $1) n`, [recipients]);
  if (beside) await contender.besides![beside.what]!(query, beside.count);
  if (backlog > 0) {
    const lists = await contender.lists(url);
    await fill(lists, backlog, (n) => kindOf(given, n));
    await lists.close();
  }
  // Fresh statistics: what was done to prepare is not measured.
  await query('VACUUM ANALYZE');
}

export const keyOf = (n: number, keys: number): string => `key-${String(n % keys).padStart(6, '0')}`;

function kindOf({ keys, lanes, slowLane }: Preparation, n: number): Kind {
  if (slowLane) return { lane: 'm-slow', seq: -1 - n };
  if (lanes !== undefined) return { lane: `lane ${n % lanes}` };
  return keys === undefined ? {} : { key: keyOf(n, keys) };
}
