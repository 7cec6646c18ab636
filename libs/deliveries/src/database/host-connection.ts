import { createHash } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { QueryRunner } from 'typeorm';

/** What is asked of each of the host's connections, once. */
interface HostConnection {
  /** No pooler stands in between, which would give prepared statements to somebody else. */
  readonly isDirect: boolean;
  /** Transactions are READ COMMITTED without being told. */
  readonly isReadCommitted: boolean;
}

const known = new WeakMap<PoolClient, HostConnection>();

/**
 * How the connection behind a query runner is. A pooler makes up the number of the server's process that a client is told when it
 * connects, so a number that is not the one of the process that answers betrays it.
 */
async function hostConnection(client: PoolClient): Promise<HostConnection> {
  const found = known.get(client);
  if (found) return found;
  const { rows } = await client.query<{ pid: number; isolation: string }>(
    `SELECT pg_backend_pid() AS pid, current_setting('default_transaction_isolation') AS isolation`,
  );
  const isDirect = (client as { processID?: number | null }).processID === rows[0]?.pid;
  const connection = { isDirect, isReadCommitted: isDirect && rows[0]?.isolation === 'read committed' };
  known.set(client, connection);
  return connection;
}

/** Whether transactions on this connection are READ COMMITTED without being told. */
export async function isReadCommitted(runner: QueryRunner): Promise<boolean> {
  return (await hostConnection(await clientOf(runner))).isReadCommitted;
}

/**
 * Runs a statement in the caller's transaction, prepared on connections where that is possible: planning it takes as long as
 * running it. Past TypeORM's `query`, which would write the payloads into the log of a host that logs its statements.
 */
export async function runPrepared<Row extends object>(
  runner: QueryRunner,
  statement: { readonly name: string; readonly text: string },
  values: unknown[],
): Promise<Row[]> {
  const client = await clientOf(runner);
  const { isDirect } = await hostConnection(client);
  const { name, text } = statement;
  const result = await client.query<Row & Record<string, unknown>>(
    isDirect ? { name, text, values } : { text, values },
  );
  return result.rows;
}

/** A statement with a name that no other has: a host may have modules for several schemas on one connection. */
export function prepared(name: string, text: string): { readonly name: string; readonly text: string } {
  return { name: `${name}_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`, text };
}

const clientOf = (runner: QueryRunner): Promise<PoolClient> => runner.connect() as Promise<PoolClient>;
