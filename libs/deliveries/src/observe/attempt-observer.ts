import { Logger, type LogLevel } from '@nestjs/common';
import { channel as diagnosticsChannel } from 'node:diagnostics_channel';
import type { Delivery } from '../delivery/delivery';
import type { AttemptTally, CountedOutcome } from './attempt-tally';
import { Durations } from './durations';
import { EndedAttempt } from './ended-attempt';

/** Name of the `node:diagnostics_channel` on which an {@link EndedAttempt} is published for every attempt. */
export const attemptChannel = 'nest-deliveries:attempt';

/** Which ended attempts get a line in the log. */
export type LogAttempts = 'all' | 'unsuccessful' | 'none';

/** The times of a send, in ms. */
export interface SendTimes {
  /** From when the delivery was due until its send began. */
  readonly waited: number;
  readonly took: number;
}

const levels = {
  succeeded: 'debug',
  retried: 'log',
  failed: 'warn',
  lease_lost: 'warn',
} as const satisfies Record<CountedOutcome, LogLevel>;

/**
 * Hears of every attempt whose outcome was written, or dropped: counts it, and tells the log and whoever listens. Called
 * tens of thousands of times a second, so that nothing is put together that nobody reads.
 */
export class AttemptObserver {
  private readonly logger = new Logger('Deliveries');
  private readonly published = diagnosticsChannel(attemptChannel);
  private readonly durations = new Map<string, ChannelDurations>();

  constructor(
    private readonly tally: AttemptTally,
    private readonly logAttempts: LogAttempts,
  ) {}

  /** @param times undefined when the delivery was not sent at all */
  ended(
    delivery: Delivery,
    attempt: number,
    outcome: CountedOutcome,
    kind: string | undefined,
    times: SendTimes | undefined,
  ): void {
    this.tally.add(delivery.channel, outcome);
    if (times) {
      const { waited, sent } = this.durationsOf(delivery.channel);
      waited.add(times.waited);
      sent.add(times.took);
    }
    const level = levels[outcome];
    const isLogged = this.isLogged(outcome) && isEnabled(level);
    if (!isLogged && !this.published.hasSubscribers) return;
    const ended = new EndedAttempt(
      delivery.id,
      delivery.eventId,
      delivery.channel,
      attempt,
      outcome,
      kind,
      times && rounded(times.took),
      times && rounded(Math.max(0, times.waited)),
    );
    if (isLogged) this.logger[level](ended);
    this.published.publish(ended);
  }

  /** The durations of a channel's sends since the process started. */
  durationsOf(channel: string): ChannelDurations {
    let durations = this.durations.get(channel);
    if (!durations) {
      durations = { waited: new Durations(), sent: new Durations() };
      this.durations.set(channel, durations);
    }
    return durations;
  }

  private isLogged(outcome: CountedOutcome): boolean {
    return this.logAttempts === 'all' || (this.logAttempts === 'unsuccessful' && outcome !== 'succeeded');
  }
}

export interface ChannelDurations {
  /** From when a delivery was due until its send began. */
  readonly waited: Durations;
  /** How long the channel had it. */
  readonly sent: Durations;
}

// Of a logger that has levels of its own it is not known: it gets the object and decides.
const isEnabled = (level: LogLevel): boolean => Logger.isLevelEnabled(level);

/** Microseconds are more than the clock of a busy process tells. */
const rounded = (ms: number): number => Math.round(ms * 10) / 10;
