import { within } from '../../database/within';
import type { CleanUpState, ListenState } from '../metrics/metrics-source';
import { countInterval, type QueueCounter } from '../queue-counter';
import type { WorkerPulse } from '../worker-pulse';
import type { DatabaseProbe } from './probe';

/** What a terminus indicator gives: made without terminus, so that an application without it needs none. */
export type DeliveriesHealth<Key extends string, Status extends string> = Record<
  Key,
  { status: Status } & Readonly<Record<string, unknown>>
>;

/** What health looks at, in this process. */
export interface HealthSource {
  readonly pulses: () => readonly WorkerPulse[];
  readonly listen: () => ListenState;
  readonly cleanUp: () => CleanUpState;
}

/** The limits that health goes by, in ms. */
export interface HealthLimits {
  /** How old the oldest pending delivery of a channel may be. */
  readonly maxPendingAge: number;
  /** How long PostgreSQL has to answer. */
  readonly timeout: number;
  /** How often a worker's poll comes by. */
  readonly pollInterval: number;
  /** The longest lease of the channels. */
  readonly longestLease: () => number;
  /** The version of the schema that this release needs. */
  readonly schemaVersion: number;
}

/** What a poll, or a look that ran into every time limit of its own, may be late by before a loop counts as dead; in ms. */
const slack = 60_000;

/**
 * Health indicators for terminus: `() => deliveries.liveness()` in the check that an orchestrator restarts by,
 * `() => deliveries.readiness()` in the one that it routes by.
 */
export class DeliveriesHealthIndicator {
  constructor(
    private readonly source: HealthSource,
    private readonly probe: DatabaseProbe,
    private readonly counter: QueueCounter,
    private readonly limits: HealthLimits,
  ) {}

  /**
   * Whether the loops of this process's workers are alive. Nothing else: a database, a receiver or a relay that is away is
   * not cured by a restart, which would only cost what is in flight an attempt. Answers at once.
   */
  liveness<Key extends string = 'deliveries'>(key: Key = 'deliveries' as Key): DeliveriesHealth<Key, 'up' | 'down'> {
    const stuck = this.source.pulses().filter((pulse) => !this.isAlive(pulse));
    return result(key, stuck.length === 0 ? 'up' : 'down', stuck.length === 0 ? {} : { stuck: stuck.map(inWords) });
  }

  /**
   * - `down`: PostgreSQL does not answer in time, or its schema is older than this release needs
   * - `degraded`: something waits too long, wake-ups do not arrive, or clean-up does not run; `degraded` says what. Work
   *   goes on, and terminus answers 200.
   *
   * @param options.degradedAs `'up'` for a terminus before 12, which knows no `degraded`
   */
  async readiness<Key extends string = 'deliveries', Degraded extends 'up' | 'degraded' = 'degraded'>(
    key: Key = 'deliveries' as Key,
    options: { readonly degradedAs?: Degraded } = {},
  ): Promise<DeliveriesHealth<Key, 'up' | 'down' | Degraded>> {
    const { listen, cleanUp } = this.source;
    const answer = await this.probe.ask();
    const detail = { listen: listen() };
    if (!answer.reached) return result(key, 'down', { ...detail, database: answer.reason });
    const needed = this.limits.schemaVersion;
    if (answer.schemaVersion < needed) {
      return result(key, 'down', {
        ...detail,
        database: 'up',
        schema: `version ${answer.schemaVersion}, needs ${needed}`,
      });
    }
    const degraded = [...(await this.waiting()), ...deafness(listen()), ...idleness(cleanUp())];
    const up = { ...detail, database: 'up', schema: `version ${answer.schemaVersion}` };
    return degraded.length === 0
      ? result(key, 'up', up)
      : result(key, options.degradedAs ?? ('degraded' as Degraded), { ...up, degraded });
  }

  private isAlive({ sincePoll, claiming }: WorkerPulse): boolean {
    const { pollInterval, longestLease } = this.limits;
    return sincePoll < 3 * pollInterval + slack && claiming < longestLease() + slack;
  }

  private async waiting(): Promise<string[]> {
    const { timeout, maxPendingAge } = this.limits;
    // Usually the gauges have just been counted.
    await within(timeout, this.counter.atMost(countInterval + 5_000));
    const tooOld = [...this.counter.latest].filter(([, { oldest }]) => oldest * 1_000 > maxPendingAge);
    const late = tooOld.map(
      ([channel, { oldest }]) =>
        `channel "${channel}": its oldest pending delivery is ${Math.round(oldest)} s old, over ${maxPendingAge / 1_000} s`,
    );
    return this.counter.isComplete ? late : [...late, 'pending deliveries could not be counted'];
  }
}

function deafness(state: ListenState): string[] {
  if (state === 'deaf') return ['no notification arrives (a pooler in transaction mode?): polling alone wakes workers'];
  return state === 'connecting' ? ['the connection for notifications is down: polling alone wakes workers'] : [];
}

function idleness({ idleFor, interval }: CleanUpState): string[] {
  if (idleFor === undefined || interval === undefined || idleFor < 3 * interval) return [];
  return [`no clean-up has run for ${Math.round(idleFor / 1_000)} s`];
}

const inWords = ({ channel, sincePoll, claiming }: WorkerPulse): string =>
  `channel "${channel}": last poll ${Math.round(sincePoll / 1_000)} s ago, a claim under way for ${Math.round(claiming / 1_000)} s`;

const result = <Key extends string, Status extends string>(
  key: Key,
  status: Status,
  detail: object,
): DeliveriesHealth<Key, Status> => ({ [key]: { ...detail, status } }) as DeliveriesHealth<Key, Status>;
