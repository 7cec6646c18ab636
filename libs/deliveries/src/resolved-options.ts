import type { InjectionToken } from '@nestjs/common';
import type { ClientConfig, PoolConfig } from 'pg';
import { DataSource } from 'typeorm';
import { defaultSchema, quoteSchema } from 'nest-deliveries/migrations';
import type { ChannelSettings } from './channel/channel.decorator';
import { channelSettings, type ChannelDefaults } from './channel-settings';
import { defaultRetention } from './clean-up/retention';
import { isCommandProcess } from './command-process';
import { optionDefaults, type DeliveriesOptions, type HealthSettings } from './deliveries.options';
import { DeliveriesOptionsError } from './errors';
import { checkModuleName } from './module-name';
import type { LogAttempts } from './observe/attempt-observer';
import type { MetricsOptions } from './observe/metrics/deliveries-metrics';
import { count, duration, flag, oneOf, refused, refuseUnknown, requireObject } from './option-rules';

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
    throw new DeliveriesOptionsError(`DeliveriesModule: ${(error as Error).message}`);
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
