import type { Type } from '@nestjs/common';
import type { ModuleRef } from '@nestjs/core';
import {
  channelOptionsOf,
  UnknownChannelError,
  type ChannelHandler,
  type DeliveredByHand,
  type Delivery,
  type DeliveryOperations,
  type DeliveryRecorder,
  type DeliveryWorkers,
  type DraftOf,
  type Duration,
  type RuntimeChannels,
} from 'nest-deliveries';
import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import { EndlessDrainError, NotSettledError } from './errors';
import { matches, type Match } from './matches';
import { positive, TestClock } from './test-clock';
import { readDeliveries, type TestedDelivery } from './tested-delivery';

// As in the recorder: each type argument stands in both directions, and only `any` fits every channel.
type AnyChannel = ChannelHandler<any, any, any>;

/** A channel's deliveries, with the payload and the recipient that its `send` takes. */
type TestedOf<C extends AnyChannel> = TestedDelivery<DraftOf<C>['payload'], NonNullable<DraftOf<C>['recipient']>>;

export interface DrainOptions {
  /**
   * How far to go. Default: what is due now, and what becomes due by it. A duration: the clock moves on from one due time to the
   * next until that much has passed. `'settled'`: until nothing waits for its time any more.
   */
  readonly until?: Duration | 'settled';
  /** Whose deliveries are sent. Default: those of every channel. */
  readonly channel?: Type<AnyChannel>;
  /** Attempts after which it is taken for endless. Default 5,000: with the default waits, one that always fails makes 200 in a week. */
  readonly atMost?: number;
}

export interface SettledOptions {
  /** How long workers may take, in real time. Default `'10s'`. In manual mode nothing is waited for. */
  readonly within?: Duration;
}

/** An attempt that a drain made. */
export interface PlayedAttempt {
  readonly delivery: Delivery;
  /** `lost`: the claim was taken away, or its outcome could not be written. */
  readonly outcome: 'succeeded' | 'skipped' | 'retried' | 'failed' | 'lost';
  /** A status code, a kind of error or the reason of a skip. */
  readonly error?: string;
}

/** What a test does with the deliveries of its application. */
export class DeliveriesTester {
  readonly clock: TestClock;
  readonly dataSource: DataSource;

  constructor(
    private readonly workers: DeliveryWorkers,
    readonly recorder: DeliveryRecorder,
    readonly operations: DeliveryOperations,
    private readonly channels: RuntimeChannels,
    private readonly moduleRef: ModuleRef,
    readonly mode: 'manual' | 'workers',
  ) {
    this.dataSource = channels.dataSource;
    this.clock = new TestClock(channels.dataSource, channels.schema);
  }

  /**
   * Sends what is due, one delivery after the other, ordered ones in their order, through all that stands between a claim and
   * the outcome in the tables. Not beside workers, which take what they find.
   * @returns the attempts, in the order in which they were made
   * @throws EndlessDrainError, UnknownChannelError, InvalidRequestError
   */
  async drain({ until, channel, atMost = 5_000 }: DrainOptions = {}): Promise<PlayedAttempt[]> {
    const played: PlayedAttempt[] = [];
    let left = until === undefined ? 0 : until === 'settled' ? Infinity : positive('until', until);
    for (;;) {
      await this.sendAllDue(channel, played, atMost);
      const next = left > 0 ? await this.clock.untilNext() : undefined;
      if (next === undefined || next > left) break;
      await this.clock.advance(next);
      left -= next;
    }
    if (Number.isFinite(left) && left > 0) await this.clock.advance(left);
    return played;
  }

  /**
   * The committed deliveries of a channel, in the order in which they were recorded.
   * @param match fields that they must have, or a question
   * @throws UnknownChannelError for a class without `@DeliveryChannel`
   */
  async recorded<C extends AnyChannel>(channel: Type<C>, match?: Match<TestedOf<C>>): Promise<TestedOf<C>[]> {
    const found = await readDeliveries(this.dataSource, this.channels.schema, nameOf(channel));
    return (found as TestedOf<C>[]).filter((delivery) => matches(delivery, match));
  }

  /**
   * Lets everything end: in manual mode by a drain, and otherwise by waiting for the workers.
   * @returns every delivery there is, of all channels
   * @throws NotSettledError when some are still pending; EndlessDrainError
   */
  async settled({ within = '10s' }: SettledOptions = {}): Promise<TestedDelivery[]> {
    if (this.mode === 'manual') await this.drain({ until: 'settled' });
    const deadline = performance.now() + positive('within', within);
    for (;;) {
      const all = await readDeliveries(this.dataSource, this.channels.schema);
      const pending = all.filter(({ status }) => status === 'pending');
      if (pending.length === 0) return all;
      if (this.mode === 'manual' || performance.now() > deadline) {
        throw new NotSettledError(pending.map(inWords), adviceFor[this.mode]);
      }
      await delay(10);
    }
  }

  /** The instance of a channel's class that the application sends with. */
  handlerOf<C extends AnyChannel>(channel: Type<C>): C {
    return this.moduleRef.get(channel, { strict: false });
  }

  private async sendAllDue(
    channel: Type<AnyChannel> | undefined,
    played: PlayedAttempt[],
    atMost: number,
  ): Promise<void> {
    for (;;) {
      const delivered = await this.workers.sendDue(channel);
      if (!delivered) return;
      if (played.length >= atMost) throw new EndlessDrainError(played.length);
      played.push(playedOf(delivered));
    }
  }
}

const adviceFor = {
  manual:
    'None of them waits for its time: they are paused, behind a failed one of their ordering key, or of a channel that this application ' +
    'does not have. Retry or cancel what failed, resume what is paused, then go on.',
  workers: 'Wait longer with within, move the time on with clock.advance, or look what holds them back.',
};

const inWords = ({ id, channel, destination, attempts, error, orderingKey }: TestedDelivery): string =>
  `  ${id} of ${channel} to ${destination}: ${attempts} attempts, ${error ?? 'no error'}${orderingKey === null ? '' : `, in order by ${orderingKey}`}`;

function nameOf(channel: Type<AnyChannel>): string {
  const name = channelOptionsOf(channel)?.name;
  if (name !== undefined) return name;
  throw new UnknownChannelError(`${channel?.name ?? String(channel)} is not a channel: it lacks @DeliveryChannel.`);
}

function playedOf({ delivery, settlement, result }: DeliveredByHand): PlayedAttempt {
  if (!settlement || result !== 'settled') return { delivery, outcome: 'lost' };
  const { status, attempt } = settlement;
  const outcome = ({ pending: 'retried', failed: 'failed', succeeded: attempt ? 'skipped' : 'succeeded' } as const)[
    status
  ];
  return attempt ? { delivery, outcome, error: attempt.error } : { delivery, outcome };
}
