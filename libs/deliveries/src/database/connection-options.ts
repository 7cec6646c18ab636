import type { PoolConfig } from 'pg';
import type { DataSource } from 'typeorm';
import { DeliveriesOptionsError } from '../errors';

type PostgresOptions = Extract<DataSource['options'], { type: 'postgres' }>;

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
  const options = postgresOptionsOf(dataSource);
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

/** @throws DeliveriesOptionsError for anything but a TypeORM `DataSource` on PostgreSQL */
export function postgresOptionsOf(dataSource: DataSource): PostgresOptions {
  const options = (dataSource as Partial<DataSource>).options;
  if (options?.type === 'postgres') return options;
  const found = options?.type === undefined ? 'something else' : `one of type "${options.type}"`;
  throw new DeliveriesOptionsError(
    `DeliveriesModule: dataSource must name a TypeORM DataSource of type "postgres", since deliveries are recorded in the application's own ` +
      `PostgreSQL transactions; got ${found}. Pass the token of the one that is, such as getDataSourceToken('name').`,
  );
}
