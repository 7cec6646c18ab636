import type { InjectionToken } from '@nestjs/common';
import type { ClientConfig, PoolConfig } from 'pg';
import { defaultSchema } from 'nest-deliveries/migrations';
import type { ChannelSettings, RetentionSettings, RetrySettings } from './channel/channel.decorator';
import type { Duration } from './delivery/duration';
import type { LogAttempts } from './observe/attempt-observer';
import type { MetricsOptions } from './observe/metrics/deliveries-metrics';
import type { AdminOptions } from './operate/admin/admin-options';

/** What `DeliveriesModule.forRoot` takes. Durations are milliseconds or strings such as `'10s'`. */
export interface DeliveriesOptions {
  /**
   * Tells this module from others of the same application, such as `'billing'`: its channels say `module: 'billing'`, and what it
   * exports is injected with `deliveriesToken`. Default: none, for the only one.
   */
  readonly name?: string;
  /** PostgreSQL schema of the tables. Default `deliveries`. */
  readonly schema?: string;
  /** Bring the schema up to date at start. Default: on, unless `NODE_ENV` is `production`. */
  readonly migrate?: boolean;
  /** Injection token of the TypeORM `DataSource`, such as `getDataSourceToken('name')`. Default: the class `DataSource`. */
  readonly dataSource?: InjectionToken;
  /** Names of the channels that this process sends; it records for all of them. Default: all. `[]` for none. */
  readonly run?: readonly string[];
  /** Workers of each channel in each replica. Default 2; 0 for a process that only records. */
  readonly workers?: number;
  /** Deliveries that each worker has in flight at most. Default 10. */
  readonly concurrency?: number;
  /** How often an idle worker looks for due deliveries. Default `'1s'`. */
  readonly pollInterval?: Duration;
  /** Deadline of one attempt. Default `'10s'`. */
  readonly sendTimeout?: Duration;
  /** How long a claim holds a delivery. Default `'60s'`; at least `sendTimeout` and 5 seconds. */
  readonly lease?: Duration;
  /** Bounds of the random wait between attempts. Default `{ first: '10s', max: '1h' }`. */
  readonly retry?: RetrySettings;
  /** How long deliveries are kept after they ended. Default `{ succeeded: '7d', failed: '30d', cancelled: '30d' }`. */
  readonly retention?: RetentionSettings;
  /** How often this process looks for what is past its retention. Default `'10m'`; `false` for never. */
  readonly cleanUpInterval?: Duration | false;
  /** How long a shut-down waits for sends in flight before it aborts them. Default `'10s'`. */
  readonly shutdownGrace?: Duration;
  /**
   * Prometheus metrics: a prefix of their names, and the prom-client registry that gets them. Default: on, in prom-client's
   * own registry, if `prom-client` is installed; `false` for off.
   */
  readonly metrics?: MetricsOptions | false;
  /** The limits of readiness. Default `{ maxPendingAge: '15m', timeout: '2s' }`. */
  readonly health?: HealthSettings;
  /**
   * Which attempts get a line in the log: a successful one at level `debug`, one to be retried at `log`, one that failed
   * or lost its lease at `warn`. Default `'all'`; `'unsuccessful'` or `'none'`.
   */
  readonly logAttempts?: LogAttempts;
  /** Connections of the workers' own pool. Default 3. */
  readonly poolSize?: number;
  /** Overrides, in the words of `pg`, of how the workers connect. Default: as the `DataSource` does. */
  readonly connection?: PoolConfig;
  /**
   * Whether processes tell each other by `NOTIFY` what became due, so that it does not wait for a poll. `LISTEN` needs a
   * connection that stays: behind a pooler that hands them out by transaction, give it a direct one, in the words of `pg`, or
   * switch it off. Default `true`: a connection like the workers'.
   */
  readonly listen?: boolean | { readonly connection: ClientConfig };
  /** The operators' routes: JSON API and dashboard. Default: none; with it, at least one guard. */
  readonly admin?: AdminOptions;
  /** Settings of single channels, by name: they win over those in `@DeliveryChannel`. */
  readonly channels?: Readonly<Record<string, ChannelSettings>>;
}

export interface HealthSettings {
  /** How old the oldest pending delivery of a channel may be before readiness is `degraded`. */
  readonly maxPendingAge?: Duration;
  /** How long PostgreSQL has to answer before readiness is `down`. */
  readonly timeout?: Duration;
}

/** Every option of the module with its default, as the options table in the docs has it. */
export const optionDefaults = {
  schema: `'${defaultSchema}'`,
  migrate: 'on, unless `NODE_ENV` is `production`',
  dataSource: 'the class `DataSource`',
  name: 'none',
  run: 'all channels',
  workers: '2',
  concurrency: '10',
  pollInterval: "'1s'",
  sendTimeout: "'10s'",
  lease: "'60s'",
  retry: "{ first: '10s', max: '1h' }",
  retention: "{ succeeded: '7d', failed: '30d', cancelled: '30d' }",
  cleanUpInterval: "'10m'",
  shutdownGrace: "'10s'",
  metrics: 'on, if `prom-client` is installed',
  health: "{ maxPendingAge: '15m', timeout: '2s' }",
  logAttempts: "'all'",
  poolSize: '3',
  connection: 'as the `DataSource` connects',
  listen: '`true`',
  admin: 'no routes',
  channels: '{}',
} as const satisfies Record<keyof DeliveriesOptions, string>;
