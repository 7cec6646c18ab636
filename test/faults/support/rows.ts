import type { TestDatabase } from '../../support/test-database';

export interface DeliveryRow {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly crashes: number;
  readonly claim_token: string | null;
  readonly lease_expires_at: Date | null;
  readonly due_at: Date;
  readonly last_error: string | null;
  readonly settled_at: Date | null;
}

export interface AttemptRow {
  readonly number: number;
  readonly outcome: string;
  readonly error: string;
}

type Asks = Pick<TestDatabase, 'query'>;

const columns = `id, status, attempts, crashes, claim_token, lease_expires_at, due_at, last_error, settled_at`;

export async function rowOf(database: Asks, id: string): Promise<DeliveryRow> {
  const [row] = await rowsOf(database, [id]);
  return row!;
}

/** The rows of some deliveries, in the order of the ids. */
export async function rowsOf(database: Asks, ids: readonly string[]): Promise<DeliveryRow[]> {
  const rows = await database.query<DeliveryRow & Record<string, unknown>>(
    `SELECT ${columns} FROM deliveries.deliveries WHERE id = ANY($1::uuid[]) ORDER BY array_position($1::uuid[], id)`,
    [ids],
  );
  if (rows.length !== ids.length) throw new Error(`Not all of the deliveries ${ids.join(', ')} are there.`);
  return rows;
}

/** How many deliveries are in each status. */
export async function countByStatus(database: Asks): Promise<Record<string, number>> {
  const rows = await database.query<{ status: string; count: number }>(
    'SELECT status, count(*)::integer AS count FROM deliveries.deliveries GROUP BY status',
  );
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
}

/** The rows of attempts, by delivery in the order of the ids, and by number. */
export function attemptsOf(database: Asks, ...ids: readonly string[]): Promise<AttemptRow[]> {
  return database.query<AttemptRow & Record<string, unknown>>(
    `SELECT number, outcome, error FROM deliveries.delivery_attempts
      WHERE delivery_id = ANY($1::uuid[]) ORDER BY array_position($1::uuid[], delivery_id), number`,
    [ids],
  );
}

/** Ends the lease of a claimed delivery now: moves the data in the place of waiting. */
export async function expireLease(database: Asks, id: string): Promise<void> {
  await database.query(
    `UPDATE deliveries.deliveries SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp()
      WHERE id = $1 AND claim_token IS NOT NULL`,
    [id],
  );
}

/** Makes a waiting delivery due now. */
export async function makeDue(database: Asks, id: string): Promise<void> {
  await database.query(
    `UPDATE deliveries.deliveries SET due_at = clock_timestamp() WHERE id = $1 AND claim_token IS NULL`,
    [id],
  );
}
