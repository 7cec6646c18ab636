import { Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataSource } from 'typeorm';
import type { Claim, Claimer } from '../claim/claimer';
import type { AttemptTally } from '../observe/attempt-tally';
import type { Channel } from '../channel/channel-registry';
import { refusalToSend } from '../send/refusal';
import { send, type Sent } from '../send/send';
import { decideSettlement, type Settlement } from '../settle/decide-settlement';
import type { Settler, SettleResult } from '../settle/settler';
import { HookedWrite } from '../settle/write-with-hook';

/** The path of one claimed delivery: send it, decide what becomes of it, write that down. */
export class DeliverClaim {
  private readonly logger = new Logger('Deliveries');
  private readonly sending = new Set<Promise<void>>();
  private readonly settling = new Set<Promise<void>>();

  constructor(
    private readonly claimer: Claimer,
    private readonly settler: Settler,
    private readonly dataSource: DataSource,
    private readonly tally: AttemptTally,
    private readonly shutdown: AbortSignal,
  ) {}

  /** Resolves when the slot is free again; the outcome may still be on its way into the tables. */
  deliver(channel: Channel, claim: Claim): Promise<void> {
    const sending = this.sendAndSettle(channel, claim).finally(() => this.sending.delete(sending));
    this.sending.add(sending);
    return sending;
  }

  /** Resolves when every send that is in flight now has returned. */
  async returned(): Promise<void> {
    await Promise.all(this.sending);
  }

  /** Resolves when every outcome that was reported so far is written, lost or given up. */
  async settled(): Promise<void> {
    await Promise.all(this.settling);
  }

  private async sendAndSettle(channel: Channel, claim: Claim): Promise<void> {
    const refusal = refusalToSend(claim.delivery, claim.crashes, claim.claimedAt, channel.maxAge);
    if (refusal) return this.settle(channel, claim, refusal, databaseNow(claim));

    const leaseLeft = this.leaseLeft(channel, claim);
    if (leaseLeft <= 0) return this.giveBack(claim);

    const startedAt = databaseNow(claim);
    const deadline = Math.min(channel.sendTimeout, leaseLeft);
    const sent = await send(channel.handler, claim.delivery, claim.attempt, deadline, this.shutdown);
    this.settle(channel, claim, sent.outcome, startedAt);
    if (!sent.hasReturned) await this.waitForChannel(channel, claim, sent.returned);
  }

  private leaseLeft(channel: Channel, claim: Claim): number {
    return claim.askedAt + channel.lease - performance.now();
  }

  /** The reply to the claim took the whole lease: somebody else may be sending by now. */
  private async giveBack(claim: Claim): Promise<void> {
    this.logger.warn(`Delivery ${claim.delivery.id}: its claim came back after the lease had ended; not sent.`);
    await this.claimer.giveBack([claim], (given) => given.wasDueAt).catch(() => undefined);
  }

  private settle(channel: Channel, claim: Claim, outcome: Sent['outcome'], startedAt: number): void {
    const settlement = decide(channel, claim, outcome);
    const hook = settlement.status === 'failed' && channel.handler.onFailed?.bind(channel.handler, claim.delivery);
    const written = this.settler
      .settle({
        id: claim.delivery.id,
        token: claim.token,
        attempt: claim.attempt,
        settlement,
        startedAt,
        giveUpAt: claim.askedAt + channel.lease - Math.min(1_000, channel.lease / 10),
        ...(hook ? { withHook: new HookedWrite(this.dataSource, hook) } : {}),
      })
      .then((result) => this.count(channel, claim, settlement, result))
      .finally(() => this.settling.delete(written));
    this.settling.add(written);
  }

  private count(channel: Channel, claim: Claim, settlement: Settlement, result: SettleResult): void {
    if (result === 'unrecorded') return;
    const { id } = claim.delivery;
    if (result === 'lost') {
      this.tally.add(channel.name, 'lease_lost');
      this.logger.warn(
        `Delivery ${id} of channel "${channel.name}", attempt ${claim.attempt}: lost lease. Its outcome came too late, or the delivery was cancelled; it was dropped.`,
      );
    } else if (settlement.status === 'failed') {
      this.tally.add(channel.name, 'failed');
      this.logger.warn(
        `Delivery ${id} of channel "${channel.name}" failed at attempt ${claim.attempt}: ${settlement.attempt.error}.`,
      );
    } else {
      this.tally.add(channel.name, settlement.status === 'pending' ? 'retried' : 'succeeded');
    }
  }

  /** A channel that ignores its signal keeps its slot until it returns or the lease ends. */
  private async waitForChannel(channel: Channel, claim: Claim, returned: Promise<void>): Promise<void> {
    this.logger.warn(
      `Channel "${channel.name}" did not return a second after the signal of delivery ${claim.delivery.id} aborted; its slot stays taken. Pass attempt.signal on to what does the work.`,
    );
    const waited = new AbortController();
    const leaseEnd = sleep(Math.max(0, this.leaseLeft(channel, claim)), undefined, { signal: waited.signal });
    await Promise.race([returned, leaseEnd]).finally(() => waited.abort());
  }
}

function decide(channel: Channel, claim: Claim, outcome: Sent['outcome']): Settlement {
  const now = databaseNow(claim);
  const { createdAt, retriedAt, deadline } = claim.delivery;
  const ages = {
    now,
    sinceAccepted: now - (retriedAt ?? createdAt).getTime(),
    untilDeadline: deadline ? deadline.getTime() - now : undefined,
  };
  return decideSettlement(outcome, claim.attemptSinceRetry, ages, channel, Math.random());
}

/** The database's clock, as this process can tell: when it claimed, and what the monotonic clock says has passed. */
const databaseNow = (claim: Claim): number => claim.claimedAt + (performance.now() - claim.askedAt);
