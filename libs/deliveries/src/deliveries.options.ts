import type { InjectionToken } from '@nestjs/common';
import { closest } from 'fastest-levenshtein';
import type { ClientConfig, PoolConfig } from 'pg';
import { DataSource } from 'typeorm';
import { defaultSchema, quoteSchema } from 'nest-deliveries/migrations';
import { isCommandProcess } from './command-process';
import { milliseconds, type Duration } from './delivery/duration';
import { DeliveriesOptionsError } from './errors';
import { checkModuleName } from './module-name';
import type { ChannelSettings, RetentionSettings, RetrySettings } from './channel/channel.decorator';
import type { LogAttempts } from './observe/attempt-observer';
import type { MetricsOptions } from './observe/metrics/deliveries-metrics';
import type { AdminOptions } from './operate/admin/admin-options';
import { defaultRetention, endings, manual, type Retention } from './clean-up/retention';

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

/** The options with their defaults, durations in ms. */
export interface ResolvedOptions {
  /** This process runs a command: it records and operates, and nothing else. */
  readonly passive: boolean;
  readonly name: string | undefined;
  /** What the names of this module's timers begin with in Nest's SchedulerRegistry. */
  readonly timers: string;
  readonly schema: string;
  readonly migrate: boolean;
  readonly dataSource: InjectionToken;
  readonly run: readonly string[] | undefined;
  readonly pollInterval: number;
  /** Undefined: this process cleans up only when it is told to. */
  readonly cleanUpInterval: number | undefined;
  readonly shutdownGrace: number;
  /** Undefined: on if prom-client is installed. */
  readonly metrics: MetricsOptions | false | undefined;
  readonly health: { readonly maxPendingAge: number; readonly timeout: number };
  readonly logAttempts: LogAttempts;
  readonly poolSize: number;
  readonly connection: PoolConfig | undefined;
  /** False: this process neither listens nor announces. */
  readonly listen: boolean | { readonly connection: ClientConfig };
  /** What holds for a channel that says nothing itself. */
  readonly channelDefaults: ChannelDefaults;
  readonly channels: Readonly<Record<string, ChannelSettings>>;
}

export interface ChannelDefaults {
  readonly workers: number;
  readonly concurrency: number;
  readonly sendTimeout: number;
  readonly lease: number;
  readonly maxAttempts: number | undefined;
  readonly retry: { readonly first: number; readonly max: number };
  readonly retention: Retention;
  readonly revivesCancelled: boolean;
  readonly lane: { readonly share: number };
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

/** The settings that a channel, and `channels.<name>`, can have. */
export const channelSettingNames = [
  'maxAge',
  'workers',
  'concurrency',
  'sendTimeout',
  'lease',
  'maxAttempts',
  'retry',
  'retention',
  'revivesCancelled',
  'lane',
] as const;

/**
 * @param name where it was given apart from the options
 * @throws DeliveriesOptionsError that says which option, the rule, what was given and what to do
 */
export function resolveOptions(options: DeliveriesOptions = {}, name = options?.name): ResolvedOptions {
  refuseUnknown('DeliveriesModule', options, Object.keys(optionDefaults));
  const schema = options.schema ?? defaultSchema;
  checkModuleName(name);
  try {
    quoteSchema(schema);
  } catch (error) {
    throw new DeliveriesOptionsError(`DeliveriesModule: ${(error as Error).message}. Choose such a name.`);
  }
  const subject = 'DeliveriesModule';
  const channelDefaults = channelSettings(subject, options, {
    workers: 2,
    concurrency: 10,
    sendTimeout: 10_000,
    lease: 60_000,
    maxAttempts: undefined,
    retry: { first: 10_000, max: 3_600_000 },
    retention: defaultRetention,
    revivesCancelled: true,
    lane: { share: 0.5 },
  });
  const migrate = flag(subject, 'migrate', options.migrate ?? process.env.NODE_ENV !== 'production');
  const { run, channels = {}, connection } = options;
  requireObject(subject, 'channels', channels, 'Write channels: { email: { … } }');
  if (connection !== undefined)
    requireObject(subject, 'connection', connection, 'Write what pg takes, or leave it out');
  if (run !== undefined && !(Array.isArray(run) && run.every((each) => typeof each === 'string'))) {
    throw refused(subject, 'run', 'must be a list of channel names', run, "Write run: ['email'], or [] for none");
  }
  const resolved: ResolvedOptions = {
    passive: false,
    name,
    timers: name === undefined ? `deliveries:${schema}` : `deliveries/${name}:${schema}`,
    schema,
    migrate,
    dataSource: options.dataSource ?? DataSource,
    run,
    pollInterval: duration(subject, 'pollInterval', options.pollInterval ?? 1_000, 10, 3_600_000),
    cleanUpInterval:
      options.cleanUpInterval === false
        ? undefined
        : duration(subject, 'cleanUpInterval', options.cleanUpInterval ?? 600_000, 1_000, 86_400_000),
    shutdownGrace: duration(subject, 'shutdownGrace', options.shutdownGrace ?? 10_000, 0, 3_600_000),
    metrics: metricsOptions(subject, options.metrics),
    health: healthSettings(subject, options.health ?? {}),
    logAttempts: oneOf(subject, 'logAttempts', options.logAttempts ?? 'all', ['all', 'unsuccessful', 'none']),
    poolSize: count(subject, 'poolSize', options.poolSize ?? 3, 1, 100),
    connection,
    listen: listenOption(subject, options.listen ?? true),
    channelDefaults,
    channels,
  };
  return isCommandProcess() ? { ...resolved, ...ofCommandProcess } : resolved;
}

const ofCommandProcess = {
  passive: true,
  migrate: false,
  run: [],
  cleanUpInterval: undefined,
  metrics: false,
} as const satisfies Partial<ResolvedOptions>;

function listenOption(subject: string, value: unknown): ResolvedOptions['listen'] {
  if (typeof value === 'boolean') return value;
  const advice = 'Write true, false, or { connection: { … } }';
  requireObject(subject, 'listen', value, advice);
  refuseUnknown(`${subject}: listen`, value as object, ['connection']);
  const { connection } = value as { connection?: unknown };
  requireObject(subject, 'listen.connection', connection, advice);
  return { connection: connection as ClientConfig };
}

/** Settings of a channel over their defaults, checked. */
export function channelSettings(
  subject: string,
  given: Omit<ChannelSettings, 'maxAge'>,
  defaults: ChannelDefaults,
): ChannelDefaults {
  refuseUnknown(`${subject}: retry`, given.retry ?? {}, ['first', 'max']);
  refuseUnknown(`${subject}: lane`, given.lane ?? {}, ['share']);
  return {
    workers: count(subject, 'workers', given.workers ?? defaults.workers, 0, 100),
    concurrency: count(subject, 'concurrency', given.concurrency ?? defaults.concurrency, 1, 10_000),
    sendTimeout: duration(subject, 'sendTimeout', given.sendTimeout ?? defaults.sendTimeout, 1, 86_400_000),
    lease: duration(subject, 'lease', given.lease ?? defaults.lease, 1, 86_400_000),
    maxAttempts:
      given.maxAttempts === undefined
        ? defaults.maxAttempts
        : count(subject, 'maxAttempts', given.maxAttempts, 1, 1_000_000),
    retry: {
      first: duration(subject, 'retry.first', given.retry?.first ?? defaults.retry.first, 1, 86_400_000),
      max: duration(subject, 'retry.max', given.retry?.max ?? defaults.retry.max, 1, 30 * 86_400_000),
    },
    retention: retentionSettings(subject, given.retention ?? {}, defaults.retention),
    revivesCancelled: flag(subject, 'revivesCancelled', given.revivesCancelled ?? defaults.revivesCancelled),
    lane: { share: fraction(subject, 'lane.share', given.lane?.share ?? defaults.lane.share) },
  };
}

function metricsOptions(
  subject: string,
  given: MetricsOptions | false | undefined,
): MetricsOptions | false | undefined {
  if (given === undefined || given === false) return given;
  refuseUnknown(`${subject}: metrics`, given, ['prefix', 'registry']);
  const { prefix, registry } = given;
  if (prefix !== undefined && !(typeof prefix === 'string' && /^([A-Za-z_:][A-Za-z0-9_:]*)?$/.test(prefix))) {
    const rule = 'must be letters, digits, underscores and colons, not starting with a digit';
    throw refused(subject, 'metrics.prefix', rule, prefix, "Write, for example, prefix: 'shop_'");
  }
  if (
    registry !== undefined &&
    typeof (registry as { registerMetric?: unknown } | null)?.registerMetric !== 'function'
  ) {
    const advice = 'Pass new Registry() of prom-client, or leave it out for its own registry';
    throw refused(subject, 'metrics.registry', 'must be a prom-client Registry', registry, advice);
  }
  return given;
}

function healthSettings(subject: string, given: HealthSettings): ResolvedOptions['health'] {
  refuseUnknown(`${subject}: health`, given, ['maxPendingAge', 'timeout']);
  return {
    maxPendingAge: duration(subject, 'health.maxPendingAge', given.maxPendingAge ?? 900_000, 1_000, 3_650 * 86_400_000),
    timeout: duration(subject, 'health.timeout', given.timeout ?? 2_000, 100, 60_000),
  };
}

function retentionSettings(subject: string, given: RetentionSettings, defaults: Retention): Retention {
  if (given === manual) return { succeeded: manual, failed: manual, cancelled: manual };
  refuseUnknown(`${subject}: retention`, given, endings);
  const of = (ending: (typeof endings)[number]): number | typeof manual => {
    const value = given[ending] ?? defaults[ending];
    return value === manual ? manual : duration(subject, `retention.${ending}`, value, 0, 3_650 * 86_400_000);
  };
  return { succeeded: of('succeeded'), failed: of('failed'), cancelled: of('cancelled') };
}

/** @throws DeliveriesOptionsError when a claim could end while its attempt, or the write of its outcome, is under way */
export function requireLeaseOverTimeout(subject: string, { lease, sendTimeout }: ChannelDefaults): void {
  if (lease >= sendTimeout + 5_000) return;
  throw new DeliveriesOptionsError(
    `${subject}: lease must be at least sendTimeout and 5 seconds (${sendTimeout + 5_000} ms), so that an outcome is written while ` +
      `the claim still holds; got ${lease} ms. Raise lease or lower sendTimeout.`,
  );
}

/** @throws DeliveriesOptionsError that names the nearest known option */
export function refuseUnknown(subject: string, given: object, known: readonly string[]): void {
  if (typeof given !== 'object' || given === null) {
    throw new DeliveriesOptionsError(`${subject}: options must be an object; got ${withoutText(given)}. Write { … }.`);
  }
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  throw new DeliveriesOptionsError(
    `${subject}: there is no option "${unknown}"; the nearest is "${closest(unknown, known)}". Known are: ${known.join(', ')}.`,
  );
}

export function duration(subject: string, option: string, value: unknown, min: number, max: number): number {
  const ms = milliseconds(value);
  if (ms !== undefined && ms >= min && ms <= max) return ms;
  const rule = `must be a duration from ${min} ms to ${max} ms`;
  throw refused(subject, option, rule, value, "Write milliseconds or a string such as '10s', '5m', '1h' or '7d'");
}

function count(subject: string, option: string, value: unknown, min: number, max: number): number {
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw refused(subject, option, `must be a whole number from ${min} to ${max}`, value, 'Choose one in that range');
}

function fraction(subject: string, option: string, value: unknown): number {
  if (typeof value === 'number' && value > 0 && value <= 1) return value;
  throw refused(subject, option, 'must be a number above 0 and at most 1', value, 'Write 0.5 for a half');
}

function flag(subject: string, option: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw refused(subject, option, 'must be true or false', value, 'Set it to one of them');
}

function oneOf<T extends string>(subject: string, option: string, value: unknown, known: readonly T[]): T {
  const found = known.find((name) => name === value);
  if (found !== undefined) return found;
  throw refused(subject, option, `must be one of ${known.map(shown).join(', ')}`, value, 'Choose one of them');
}

function refused(subject: string, option: string, rule: string, got: unknown, advice: string): DeliveriesOptionsError {
  return new DeliveriesOptionsError(`${subject}: ${option} ${rule}; got ${shown(got)}. ${advice}.`);
}

function requireObject(subject: string, option: string, value: unknown, advice: string): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return;
  throw new DeliveriesOptionsError(`${subject}: ${option} must be an object; got ${withoutText(value)}. ${advice}.`);
}

/** Text in the place of an object may be an address with a password in it. */
const withoutText = (value: unknown): string => (typeof value === 'string' ? 'text' : shown(value));

/** What was given; of an object or a function no more than that, since it may hold a password. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`;
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'function') return 'a function';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
