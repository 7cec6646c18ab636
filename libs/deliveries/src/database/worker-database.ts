import { Logger } from '@nestjs/common';
import { Pool, type PoolConfig } from 'pg';

/** Longer than any statement of a healthy worker; far below the lease, so that a frozen connection is given up in time. */
const statementDeadline = 10_000;

/**
 * The workers' own few connections: a host that has used up its pool delays no claim and no settle, and a worker never
 * holds one of the host's connections.
 *
 * Every statement is a transaction of its own, prepared once for each connection. A connection whose statement failed is
 * thrown away, since a statement that timed out may still be running on it.
 */
export class WorkerDatabase {
  private readonly logger = new Logger('Deliveries');
  private readonly pool: Pool;
  private down = false;

  constructor(config: PoolConfig) {
    this.pool = new Pool({
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      query_timeout: statementDeadline,
      application_name: 'nest-deliveries',
      ...config,
      allowExitOnIdle: false,
      // The default of a database or a role may be another level; under it a claim would fail instead of skipping. Not in a
      // listener of 'connect': the first statement would be queued behind it, which pg deprecates.
      // A plan that a connection made while the table was small reads it from end to end when it has grown, until the next
      // ANALYZE: the claim of ten heads took 320 ms in the place of 8 with 100,000 rows. Every statement here has an index.
      onConnect: (client): unknown =>
        client.query("SET default_transaction_isolation TO 'read committed'; SET enable_seqscan TO off"),
    });
    // Without a listener the death of an idle connection would end the process.
    this.pool.on('error', (error) => this.logger.warn(`An idle connection of the workers was lost: ${codeOf(error)}.`));
  }

  /**
   * Runs one statement.
   * @param name of the prepared statement: one for each text
   * @throws the driver's error; the first one after a success is logged here, and so is the first success after that
   */
  async query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    try {
      const { rows } = await this.pool.query<Row>({ name, text, values });
      if (this.down) {
        this.down = false;
        this.logger.log('PostgreSQL answers again: workers go on.');
      }
      return rows;
    } catch (error) {
      if (!this.down && isOutage(error)) {
        this.down = true;
        this.logger.error(`PostgreSQL does not answer (${codeOf(error)}): workers wait and try again.`);
      }
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.pool.end();
  }
}

/** True when the server could not be asked, as opposed to a statement that it refused. */
export function isOutage(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  if (typeof code !== 'string' || code.length !== 5) return true;
  // SQLSTATE classes: 08 connection, 53 resources, 57 operator intervention (shut-down, crash, cancel), 58 system, XX internal
  return /^(08|53|57|58|XX)/.test(code) || code === 'EPIPE';
}

/** The SQLSTATE or system error code, otherwise the class's name: safe to log, unlike a message that may quote values. */
export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : error instanceof Error ? error.constructor.name : typeof error;
}
