import type { TestDatabase } from '../../support/test-database';

type Asks = Pick<TestDatabase, 'query'>;

/** What an operator's cancel does to a row: the token goes, and the lease of an attempt that is under way stays. */
export async function cancel(database: Asks, id: string): Promise<void> {
  const rows = await database.query(
    `UPDATE deliveries.deliveries SET status = 'cancelled', claim_token = NULL, settled_at = clock_timestamp()
      WHERE id = $1 AND status IN ('pending', 'failed') RETURNING id`,
    [id],
  );
  if (rows.length !== 1) throw new Error(`Delivery ${id} could not be cancelled.`);
}

/** What an operator's retry does to a failed row. */
export async function retryFailed(database: Asks, id: string): Promise<void> {
  const rows = await database.query(
    `UPDATE deliveries.deliveries
        SET status = 'pending', settled_at = NULL, retried_at = clock_timestamp(), attempts_at_retry = attempts, crashes = 0,
            due_at = greatest(clock_timestamp(), lease_expires_at)
      WHERE id = $1 AND status = 'failed' RETURNING id`,
    [id],
  );
  if (rows.length !== 1) throw new Error(`Delivery ${id} could not be retried.`);
}
