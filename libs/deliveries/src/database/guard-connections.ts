import type { Pool } from 'pg';
import type { DataSource } from 'typeorm';

/**
 * Gives every connection of a pool a listener for errors that stays.
 *
 * When a connection is handed out, pg-pool takes its own listener away, and whoever waits for the promise adds the next one
 * a moment later. If PostgreSQL ends the connection right then, with its last words in the same packet as its readiness, the
 * error has no listener and ends the process (seen with `pg_terminate_backend` on connections that were being opened). Who
 * uses the connection still hears of the error with the next statement.
 */
export function guardConnections(pool: Pick<Pool, 'on'>): void {
  pool.on('connect', (client) => client.on('error', () => undefined));
}

/** The same for the pool of the host's `DataSource`. */
export function guardHostConnections(dataSource: DataSource): void {
  const driver = dataSource.driver as { master?: Partial<Pool> } | undefined;
  if (typeof driver?.master?.on === 'function') guardConnections(driver.master as Pool);
}
