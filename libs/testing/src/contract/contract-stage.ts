import { channelOptionsOf, milliseconds, type ChannelHandler, type Delivery, type Outcome } from 'nest-deliveries';
import { setTimeout as delay } from 'node:timers/promises';
import { ChannelContractError } from '../errors';
import type { TestedDelivery } from '../tested-delivery';
import type { DeliveriesTester } from '../deliveries-tester';
import { contractAttempt } from './contract-attempt';
import type { ChannelSubject } from './subject';

/** What a call to `send` came to: an outcome as it was returned, or whatever was thrown. */
export type Answered = { readonly returned: unknown } | { readonly threw: unknown };

/** How long a channel has after its signal aborted, as workers wait; in ms. */
const abortGrace = 1_000;
const defaultSendTimeout = 10_000;

/** Where a rule plays: a channel, what it recorded, its receiver. */
export class ContractStage {
  /** A send changed the delivery that it was given. */
  changed = false;
  private readonly handler: ChannelHandler;
  private readonly made: string[] = [];
  private readonly sendTimeout: number;

  constructor(
    private readonly rule: string,
    readonly subject: ChannelSubject,
    readonly tester: DeliveriesTester,
  ) {
    this.handler = tester.handlerOf(subject.channel);
    this.sendTimeout = milliseconds(channelOptionsOf(subject.channel)?.sendTimeout) ?? defaultSendTimeout;
  }

  /** @throws ChannelContractError always */
  broken(found: string): never {
    throw new ChannelContractError(this.rule, `${this.subject.channel.name} ${found}`);
  }

  /** Deliveries of the channel that `work` left behind. */
  async causedBy(work: () => Promise<unknown>): Promise<TestedDelivery[]> {
    const before = new Set((await this.tester.recorded(this.subject.channel)).map(({ id }) => id));
    await work();
    const caused = (await this.tester.recorded(this.subject.channel)).filter(({ id }) => !before.has(id));
    this.made.push(...caused.map(({ id }) => id));
    return caused;
  }

  /** Records as the application does, and gives the first delivery of it. */
  async delivery(): Promise<Delivery> {
    const { tester, subject } = this;
    const [first] = await this.causedBy(() => tester.dataSource.transaction((tx) => subject.record(tx, tester)));
    if (!first)
      this.broken('recorded no delivery. Let deliveries() return a draft for the event that record() records.');
    return asSent(first);
  }

  /**
   * Calls the channel as a worker does: with a deadline, a signal and one more second.
   * @param number of the attempt
   */
  async send(delivery: Delivery, number = 1, abort = new AbortController()): Promise<Answered> {
    const { attempt, end } = contractAttempt(number, this.sendTimeout, abort);
    const call = this.call(delivery, attempt);
    const late = new AbortController();
    const tooLate = async (): Promise<undefined> => {
      await aborted(abort.signal, late.signal);
      await delay(abortGrace, undefined, { signal: late.signal });
      return undefined;
    };
    try {
      const answered = await Promise.race([call, tooLate().catch(() => new Promise<undefined>(() => undefined))]);
      if (!answered)
        this.broken(
          `did not return from send() a second after its signal aborted. Pass attempt.signal on to what does the work.`,
        );
      return answered;
    } finally {
      late.abort();
      end();
    }
  }

  /** The outcome, in the form in which it is stored. */
  outcome(answered: Answered): Outcome {
    if ('threw' in answered) return { type: 'retry', kind: classOf(answered.threw) };
    const { type } = (answered.returned ?? {}) as { type?: unknown };
    if (type === 'succeeded' || type === 'retry' || type === 'failed' || type === 'skipped') {
      return answered.returned as Outcome;
    }
    return this.broken(
      'returned no outcome from send(). Return succeeded(), retry(kind), failed(kind) or skipped(reason), or throw for a retry.',
    );
  }

  /** Waits, at most 5 s, until the receiver has got so many messages since `before`. */
  async arrived(before: number, count: number): Promise<readonly string[]> {
    const { receiver } = this.subject;
    for (let waited = 0; waited < 5_000 && receiver.received().length < before + count; waited += 5) await delay(5);
    return receiver.received().slice(before);
  }

  /** What was recorded is not sent by a later drain. */
  async leave(): Promise<void> {
    for (const id of this.made) await this.tester.operations.cancel(id, { actor: 'channel contract' });
  }

  private async call(delivery: Delivery, attempt: Parameters<ChannelHandler['send']>[1]): Promise<Answered> {
    // Not structuredClone(): under Jest its result is of another realm, and equals nothing that a test makes.
    const given = { ...delivery, payload: copyOf(delivery.payload), recipient: copyOf(delivery.recipient) };
    const before = JSON.stringify(given);
    try {
      return { returned: await this.handler.send(given, attempt) };
    } catch (error) {
      return { threw: error };
    } finally {
      if (JSON.stringify(given) !== before) this.changed = true;
    }
  }
}

function asSent(recorded: TestedDelivery): Delivery {
  const { id, eventId, channel, destination, payload, recipient, orderingKey, lane, createdAt, deadline } = recorded;
  return {
    id,
    eventId,
    channel,
    destination,
    payload,
    recipient,
    orderingKey,
    lane,
    createdAt,
    deadline,
    retriedAt: null,
  };
}

const copyOf = (json: unknown): unknown => JSON.parse(JSON.stringify(json)) as unknown;

const classOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.constructor.name : typeof thrown);

const aborted = (signal: AbortSignal, late: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true, signal: late });
    late.addEventListener('abort', () => reject(new Error('it returned')), { once: true });
  });
