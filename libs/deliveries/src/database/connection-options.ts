import type { PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import { DeliveriesOptionsError } from '../errors';

interface Credentials {
  url?: string;
  host?: string;
  port?: number;
  username?: string;
  password?: PoolConfig['password'];
  database?: string;
  ssl?: PoolConfig['ssl'];
}

/**
 * How the host's `DataSource` reaches PostgreSQL, in the words of `pg`: the same mapping as TypeORM's own, its `extra`
 * included. Of a replicated setup it is the primary.
 */
export function connectionOptionsOf(dataSource: DataSource): PoolConfig {
  const { options } = dataSource;
  if (options.type !== 'postgres') {
    throw new DeliveriesOptionsError(
      `dataSource must be a TypeORM DataSource of type "postgres"; got type "${options.type}". Deliveries are recorded in the ` +
        "application's own PostgreSQL transactions.",
    );
  }
  const from = (options.replication ? options.replication.master : options) as Credentials;
  const mapped: PoolConfig = {
    connectionString: from.url,
    host: from.host,
    port: from.port,
    user: from.username,
    password: from.password,
    database: from.database,
    ssl: from.ssl,
    ...(options.extra as PoolConfig | undefined),
  };
  return Object.fromEntries(Object.entries(mapped).filter(([, value]) => value !== undefined));
}
