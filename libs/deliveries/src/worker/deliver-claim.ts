import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Claimer } from '../claim/claimer';
import type { Claim } from '../delivery/claim';
import type { Delivery } from '../delivery/delivery';
import type { AttemptObserver, SendTimes } from '../observe/attempt-observer';
import type { Channel } from '../channel/channel-registry';
import type { LaneHolds } from '../pause/lane-holds';
import { refusalToSend } from '../send/refusal';
import { send, type Sent } from '../send/send';
import type { Shutdown } from '../send/shutdown';
import { Ongoing } from './ongoing';
import { decideSettlement, type Settlement } from '../settle/decide-settlement';
import type { Settler, SettleResult } from '../settle/settler';
import { HookedWrite } from '../settle/write-with-hook';

/** How long an ordering key keeps a slot for its next deliveries before the slot goes to whoever waits, in ms. */
const chainFor = 1_000;

/** What became of a delivery that somebody waited for. */
export interface DeliveredByHand {
  readonly delivery: Delivery;
  /** Undefined when nothing was decided: its claim came back after the lease had ended. */
  readonly settlement?: Settlement;
  /** `lost`: the claim was taken away meanwhile; `unrecorded`: the database did not take the outcome. */
  readonly result: SettleResult;
}

interface SettleOptions {
  /** The slot waits for what comes next in the key. */
  readonly chain: boolean;
  readonly times?: SendTimes | undefined;
  /** For how long, in ms, the channel may still be sending. */
  readonly busyFor?: number;
  readonly onSettled?: ((delivered: DeliveredByHand) => void) | undefined;
}

const countedAs = { succeeded: 'succeeded', pending: 'retried', failed: 'failed' } as const;

/** The path of one claimed delivery: send it, decide what becomes of it, write that down. */
export class DeliverClaim {
  private readonly logger = new Logger('Deliveries');
  private readonly sending = new Ongoing();
  private readonly settling = new Ongoing();
  private stopping = false;

  constructor(
    private readonly claimer: Claimer,
    private readonly settler: Settler,
    private readonly dataSource: DataSource,
    private readonly observer: AttemptObserver,
    private readonly shutdown: Shutdown,
    private readonly holds: LaneHolds,
    /** Called when an ordered delivery is done and nothing was claimed after it: its key may have a new head. */
    private readonly onKeyFree: (channel: string) => void,
  ) {}

  /**
   * Resolves when the slot is free again; the outcome may still be on its way into the tables. An ordered delivery that
   * succeeded hands its slot to the next of its key, which the settle has claimed already.
   */
  async deliver(channel: Channel, claim: Claim): Promise<void> {
    this.sending.begin();
    try {
      if (claim.delivery.orderingKey === null) await this.sendAndSettle(channel, claim, false);
      else await this.deliverInTurn(channel, claim);
    } finally {
      this.sending.end();
    }
  }

  /** The same for one delivery, for a caller who waits until its outcome is written, lost or given up. */
  async deliverByHand(channel: Channel, claim: Claim): Promise<DeliveredByHand> {
    this.sending.begin();
    try {
      return await new Promise((resolve, reject) => {
        this.sendAndSettle(channel, claim, false, resolve).catch(reject);
      });
    } finally {
      this.sending.end();
    }
  }

  /** From now on no delivery is claimed after another. */
  stopChaining(): void {
    this.stopping = true;
  }

  /** Resolves when no send is in flight. */
  returned(): Promise<void> {
    return this.sending.none();
  }

  /** Resolves when every outcome that was reported is written, lost or given up. */
  settled(): Promise<void> {
    return this.settling.none();
  }

  private async deliverInTurn(channel: Channel, first: Claim): Promise<void> {
    const until = performance.now() + chainFor;
    let claim: Claim | undefined = first;
    while (claim) {
      const chain = performance.now() < until && !this.stopping;
      claim = await this.sendAndSettle(channel, claim, chain);
      if (claim && this.stopping) {
        await this.claimer.giveBack([claim], (given) => given.wasDueAt).catch(() => undefined);
        return;
      }
    }
  }

  /** @returns the next delivery of the key, if `chain` asked for it and there is one */
  private async sendAndSettle(
    channel: Channel,
    claim: Claim,
    chain: boolean,
    onSettled?: (delivered: DeliveredByHand) => void,
  ): Promise<Claim | undefined> {
    const { delivery } = claim;
    const refusal = refusalToSend(delivery, claim.crashes, databaseNow(claim), channel.maxAge);
    if (refusal) return this.settle(channel, claim, refusal, databaseNow(claim), { chain, onSettled });

    const leaseLeft = this.leaseLeft(channel, claim);
    if (leaseLeft <= 0) {
      await this.giveBack(claim);
      onSettled?.({ delivery, result: 'lost' });
      return undefined;
    }

    const startedAt = databaseNow(claim);
    const lastMoment = delivery.deadline === null ? Infinity : delivery.deadline.getTime() - startedAt;
    const deadline = Math.min(channel.sendTimeout, leaseLeft, Math.max(1, lastMoment));
    const isHeld = (): Promise<boolean> => this.claimer.isHeld(claim);
    const sent = await send(channel.handler, delivery, claim.attempt, deadline, this.shutdown, isHeld);
    const times = { waited: startedAt - claim.wasDueAt / 1_000, took: databaseNow(claim) - startedAt };
    if (!sent.returning) return this.settle(channel, claim, sent.outcome, startedAt, { chain, times, onSettled });
    const busyFor = this.leaseLeft(channel, claim);
    void this.settle(channel, claim, sent.outcome, startedAt, { chain: false, times, busyFor, onSettled });
    await this.waitForChannel(channel, claim, sent.returning);
    return undefined;
  }

  private leaseLeft(channel: Channel, claim: Claim): number {
    return claim.askedAt + channel.lease - performance.now();
  }

  /** The reply to the claim took the whole lease: somebody else may be sending by now. */
  private async giveBack(claim: Claim): Promise<void> {
    this.logger.warn(`Delivery ${claim.delivery.id}: its claim came back after the lease had ended; not sent.`);
    await this.claimer.giveBack([claim], (given) => given.wasDueAt).catch(() => undefined);
  }

  /** @returns at once, unless the slot waits for what comes next in the key */
  private settle(
    channel: Channel,
    claim: Claim,
    outcome: Sent['outcome'],
    startedAt: number,
    { chain, times, busyFor = 0, onSettled }: SettleOptions,
  ): Promise<Claim | undefined> | undefined {
    const ordered = claim.delivery.orderingKey !== null;
    const settlement = decide(channel, claim, outcome, ordered ? busyFor : 0);
    if (settlement.status !== 'succeeded' && settlement.holdLaneFor !== undefined && claim.delivery.lane !== null) {
      this.holds.hold(channel.name, claim.delivery.lane, settlement.holdLaneFor);
    }
    const hook = settlement.status === 'failed' && channel.handler.onFailed?.bind(channel.handler, claim.delivery);
    const outcomeToWrite = {
      id: claim.delivery.id,
      token: claim.token,
      attempt: claim.attempt,
      settlement,
      startedAt,
      giveUpAt: claim.askedAt + channel.lease - Math.min(1_000, channel.lease / 10),
      chainLease: chain ? channel.lease : undefined,
      stillSending: ordered && busyFor > 0,
      withHook: hook ? new HookedWrite(this.dataSource, hook) : undefined,
    };
    const write = (then?: (next: Claim | undefined) => void): void => {
      this.settling.begin();
      this.settler.settle(outcomeToWrite, ({ result, next }) => {
        this.observe(claim, settlement, result, times);
        onSettled?.({ delivery: claim.delivery, settlement, result });
        if (ordered && !chain && settlement.status === 'succeeded') this.onKeyFree(channel.name);
        then?.(next);
        this.settling.end();
      });
    };
    if (chain) return new Promise(write);
    write();
    return undefined;
  }

  private observe(claim: Claim, settlement: Settlement, result: SettleResult, times: SendTimes | undefined): void {
    if (result === 'unrecorded') return;
    const outcome = result === 'lost' ? 'lease_lost' : countedAs[settlement.status];
    this.observer.ended(claim.delivery, claim.attempt, outcome, settlement.attempt?.error, times);
  }

  /** A channel that ignores its signal keeps its slot until it returns or the lease ends. */
  private async waitForChannel(channel: Channel, claim: Claim, returned: Promise<void>): Promise<void> {
    this.logger.warn(
      `Channel "${channel.name}" did not return a second after the signal of delivery ${claim.delivery.id} aborted; its slot stays taken. Pass attempt.signal on to what does the work.`,
    );
    const waited = new AbortController();
    // Does not hold a process that has stopped: the wait is for the slot, which it does not need any more.
    const leaseEnd = sleep(Math.max(0, this.leaseLeft(channel, claim)), undefined, {
      signal: waited.signal,
      ref: false,
    });
    await Promise.race([returned, leaseEnd]).finally(() => waited.abort());
  }
}

function decide(channel: Channel, claim: Claim, outcome: Sent['outcome'], busyFor: number): Settlement {
  const now = databaseNow(claim);
  const { createdAt, retriedAt, deadline } = claim.delivery;
  const ages = {
    now,
    busyFor,
    sinceAccepted: now - (retriedAt ?? createdAt).getTime(),
    untilDeadline: deadline ? deadline.getTime() - now : undefined,
  };
  return decideSettlement(outcome, claim.attemptSinceRetry, ages, channel, Math.random());
}

/** The database's clock, as this process can tell: when it claimed, and what the monotonic clock says has passed. */
const databaseNow = (claim: Claim): number => claim.claimedAt + (performance.now() - claim.askedAt);
