import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Pool, type PoolConfig, type QueryConfig, type QueryResult } from 'pg';
import { guardConnections } from '../database/guard-connections';
import { within } from '../database/within';
import { codeOf } from '../database/worker-database';

/** How long a stop waits for connections to close: one that is frozen never does. In ms. */
const closePatience = 1_000;
/** After the server should have given a statement up, in ms. */
const frozenAfter = 500;

/**
 * Two connections at most, opened when something is looked at: one for counting, one for the question whether PostgreSQL
 * answers. Apart from the workers' and the host's, so that looking takes nothing from what is looked at, and so that a pool
 * which is used up is not taken for a database that is away.
 */
export class ObserverDatabase implements OnApplicationShutdown {
  private readonly logger = new Logger('Deliveries');
  private readonly pool: Pool;
  private ended: Promise<void> | undefined;

  /** @param connectTimeout in ms, of a connection that has to be opened */
  constructor(config: PoolConfig, connectTimeout: number) {
    this.pool = new Pool({
      keepAlive: true,
      application_name: 'nest-deliveries observer',
      idleTimeoutMillis: 60_000,
      ...config,
      max: 2,
      connectionTimeoutMillis: connectTimeout,
      allowExitOnIdle: true,
    });
    guardConnections(this.pool);
    // Without a listener the death of an idle connection would end the process.
    this.pool.on('error', (error) =>
      this.logger.debug(`An idle connection of the observer was lost: ${codeOf(error)}.`),
    );
  }

  /**
   * Runs one statement that only reads. Planned with indexes and without parallel workers: three processes that count at
   * once should not take six cores from those that work.
   *
   * @param limit of the statement, in ms: in the server, where it would go on otherwise, and a moment later here, for a
   *   connection that is frozen
   * @throws the driver's error; the connection is thrown away then, since its statement may still be running
   */
  async read<Row extends object>(text: string, values: unknown[], limit: number): Promise<Row[]> {
    const client = await this.pool.connect();
    const run = (statement: QueryConfig): Promise<QueryResult<Row & Record<string, unknown>>> =>
      client.query({ ...statement, query_timeout: limit + frozenAfter } as QueryConfig);
    let broken = true;
    try {
      await run({ text: readOnly(limit) });
      const { rows } = await run({ text, values });
      await run({ text: 'COMMIT' });
      broken = false;
      return rows;
    } finally {
      client.release(broken);
    }
  }

  /** After the hooks in which those who look have stopped. */
  onApplicationShutdown(): Promise<void> {
    this.ended ??= within(closePatience, this.pool.end());
    return this.ended;
  }
}

// SET LOCAL, in a transaction: behind a pooler in transaction mode a setting of the session would stay with the next client.
const readOnly = (limit: number): string =>
  `BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; SET LOCAL statement_timeout = ${limit}; ` +
  'SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL enable_seqscan = off';
