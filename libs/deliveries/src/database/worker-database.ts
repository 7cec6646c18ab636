import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Pool, type PoolClient, type PoolConfig, type QueryConfig } from 'pg';
import { guardConnections } from './guard-connections';
import { beginTransaction, isFromPooler, ownSession, requireOwnSession } from './session';
import { within } from './within';

/** Longer than any statement of a healthy worker; far below the lease, so that a frozen connection is given up in time. */
const statementDeadline = 10_000;
/** How long a stop waits for connections to close: one that is frozen never does. In ms. */
const closePatience = 1_000;
/** A server that stops or crashes ends one process after the other, and some may answer for that long. In ms. */
const lastAnswers = 100;

/**
 * The workers' own few connections: a host that has used up its pool delays no claim and no settle, and a worker never
 * holds one of the host's connections.
 *
 * A worker's statement is a transaction of its own, prepared once for each connection. A connection whose statement failed
 * is thrown away, since a statement that timed out may still be running on it.
 */
export class WorkerDatabase implements OnApplicationShutdown {
  private readonly logger = new Logger('Deliveries');
  private pool: Pool;
  /** A pooler that hands out connections by transaction stands in between. */
  private pooled = false;
  private down = false;
  /** When that was last found to be otherwise, by `performance.now()`. */
  private changedAt = -Infinity;
  private ended: Promise<void> | undefined;

  constructor(private readonly config: PoolConfig) {
    this.pool = this.open({ ...ownSession(config), onConnect: (client): unknown => requireOwnSession(client) });
  }

  /**
   * Runs one statement.
   * @param name of the prepared statement: one for each text
   * @throws the driver's error; the first one of an outage is logged here, and so is the first success after it
   */
  async query<Row extends object>(name: string, text: string, values: unknown[]): Promise<Row[]> {
    return this.watched(() =>
      this.pastPoolers(async () =>
        this.pooled
          ? this.inTransaction((client) => client.query<Row & Record<string, unknown>>({ text, values }))
          : this.pool.query<Row & Record<string, unknown>>({ name, text, values }),
      ).then(({ rows }) => rows),
    );
  }

  /**
   * Runs several statements in one READ COMMITTED transaction on one connection, each planned with its values.
   * @param options.deadline of each statement, in ms
   * @param options.signal cuts the connection off when it aborts, which rolls the transaction back
   * @throws what `work` throws, after the rollback
   */
  async transaction<T>(
    work: (run: WorkerStatement) => Promise<T>,
    { deadline, signal }: { deadline: number; signal: AbortSignal },
  ): Promise<T> {
    signal.throwIfAborted();
    return this.watched(async () => {
      const client = await this.pastPoolers(() => this.pool.connect());
      let released = false;
      const release = (broken: boolean): void => {
        if (released) return;
        released = true;
        client.release(broken);
      };
      const cutOff = (): void => release(true);
      // Without a listener the death of a connection between two statements would end the process.
      const ignore = (): void => {};
      client.on('error', ignore);
      signal.addEventListener('abort', cutOff, { once: true });
      const run: WorkerStatement = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> => {
        const statement: QueryConfig & { query_timeout: number } = { text, values, query_timeout: deadline };
        return (await client.query<Row & Record<string, unknown>>(statement)).rows;
      };
      try {
        await client.query(beginTransaction);
        const result = await work(run);
        await run('COMMIT');
        client.off('error', ignore);
        release(false);
        return result;
      } catch (error) {
        release(true);
        throw error;
      } finally {
        signal.removeEventListener('abort', cutOff);
      }
    }, signal);
  }

  private open(config: PoolConfig): Pool {
    const pool = new Pool({
      keepAlive: true,
      connectionTimeoutMillis: 5_000,
      query_timeout: statementDeadline,
      application_name: 'nest-deliveries',
      ...this.config,
      ...config,
      allowExitOnIdle: false,
    });
    guardConnections(pool);
    // Without a listener the death of an idle connection would end the process.
    pool.on('error', (error) => this.logger.warn(`An idle connection of the workers was lost: ${codeOf(error)}.`));
    return pool;
  }

  /** Runs `work`; when it meets a pooler for the first time, again, in the way that works behind one. */
  private async pastPoolers<T>(work: () => Promise<T>): Promise<T> {
    const wasPooled = this.pooled;
    try {
      return await work();
    } catch (error) {
      if (wasPooled || this.ended || !isFromPooler(error)) throw error;
      // Of several statements that were under way, the first.
      if (!this.pooled) this.goPooled();
      return work();
    }
  }

  private goPooled(): void {
    this.pooled = true;
    const direct = this.pool;
    this.pool = this.open({});
    void within(closePatience, direct.end());
    this.logger.log(
      'A pooler that hands out connections by transaction stands before PostgreSQL: statements are not prepared, and each takes a ' +
        'transaction of three. A direct connection is faster: the option connection gives the workers their own.',
    );
  }

  /** One statement as a transaction, with the settings that a session of our own would have. */
  private async inTransaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    let broken = true;
    try {
      await client.query(beginTransaction);
      const result = await work(client);
      await client.query('COMMIT');
      broken = false;
      return result;
    } finally {
      client.release(broken);
    }
  }

  /** After the hooks in which workers write their last outcomes and a clean-up ends. */
  onApplicationShutdown(): Promise<void> {
    return this.close();
  }

  close(): Promise<void> {
    this.ended ??= within(closePatience, this.pool.end());
    return this.ended;
  }

  /**
   * Logs when PostgreSQL goes away and when it comes back: once for each change. What was asked before a change, and is answered
   * or fails after it, tells of the time before.
   */
  private async watched<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const askedAt = performance.now();
    try {
      const result = await work();
      if (this.down && askedAt > this.changedAt + lastAnswers) {
        this.turn(false);
        this.logger.log('PostgreSQL answers again: workers go on.');
      }
      return result;
    } catch (error) {
      if (!this.down && askedAt > this.changedAt && isOutage(error) && !signal?.aborted) {
        this.turn(true);
        this.logger.error(`PostgreSQL does not answer (${codeOf(error)}): workers wait and try again.`);
      }
      throw error;
    }
  }

  private turn(down: boolean): void {
    this.down = down;
    this.changedAt = performance.now();
  }
}

/** Runs one statement of a transaction and gives its rows. */
export type WorkerStatement = <Row extends object>(text: string, values?: unknown[]) => Promise<Row[]>;

/** True when the server could not be asked, as opposed to a statement that it refused. */
export function isOutage(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  if (typeof code !== 'string' || code.length !== 5) return true;
  // SQLSTATE classes: 08 connection, 53 resources, 57 operator intervention (shut-down, crash, cancel), 58 system, XX internal
  return /^(08|53|57|58|XX)/.test(code) || code === 'EPIPE';
}

/** The SQLSTATE or system error code, otherwise the class's name: safe to log, unlike a message that may quote values. */
export function codeOf(error: unknown): string {
  const { code, constructor } = Object(error) as { code?: unknown; constructor?: { name?: unknown } };
  // A hook of the host may throw an error whose code is anything.
  const isCode = typeof code === 'string' && /^[A-Za-z0-9_.:-]{1,64}$/.test(code);
  return isCode ? code : error instanceof Error ? String(constructor?.name) : typeof error;
}
