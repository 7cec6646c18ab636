import type { Claim, Claimer } from '../claim/claimer';
import { DueBound } from '../claim/due-bound';
import type { Channel } from '../channel/channel-registry';
import type { DeliverClaim } from './deliver-claim';
import type { SoloGate } from './solo-gate';

/** From this many crashes on, a delivery is sent while nothing else is. */
const soloFromCrashes = 3;
const longestPause = 3_000;

/**
 * One worker of a channel: a row of slots. It claims as many due deliveries as it has free slots, starts each of them at
 * once, and refills a slot when it frees up, so that a slow receiver holds up nothing but its own slot.
 */
export class ChannelWorker {
  private readonly bound = new DueBound();
  private busy = 0;
  private claiming: Promise<void> | undefined;
  /** The last claim came back short: nothing else was due, and a freed slot is no reason to ask again before the next poll. */
  private drained = false;
  private woken = false;
  private stopping = false;
  private pause = 0;
  private retryTimer: NodeJS.Timeout | undefined;

  constructor(
    readonly channel: Channel,
    private readonly claimer: Claimer,
    private readonly deliverClaim: DeliverClaim,
    private readonly gate: SoloGate,
    private readonly room: () => Promise<void>,
  ) {}

  /** Deliveries that this worker has in flight. */
  get inFlight(): number {
    return this.busy;
  }

  /** Something may be due: look now. */
  wake(): void {
    this.woken = true;
    this.refill();
  }

  /** Stops claiming; a claim under way is given back when it returns. Resolves once it has. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.retryTimer);
    await this.claiming;
  }

  /** Claims for all free slots, once, and starts what it got. @returns how many deliveries were claimed */
  async runOnce(): Promise<number> {
    await this.room();
    const slots = this.freeSlots();
    if (slots === 0) return 0;
    this.woken = false;
    const claims = await this.claimer.claim(
      this.channel.name,
      slots,
      this.channel.lease,
      this.bound.next(performance.now()),
    );
    this.bound.observe(slots, claims.length, claims.at(-1)?.wasDueAt ?? 0);
    this.drained = claims.length < slots;
    if (this.stopping) await this.claimer.giveBack(claims, (claim) => claim.wasDueAt);
    else for (const claim of claims) this.start(claim);
    return claims.length;
  }

  private freeSlots(): number {
    if (this.stopping || !this.gate.open) return 0;
    return this.channel.concurrency - this.busy;
  }

  private refill(): void {
    if (this.claiming || this.retryTimer || this.freeSlots() === 0) return;
    this.claiming = this.claimWhileDue().finally(() => {
      this.claiming = undefined;
      // A slot that freed up, or a wake-up that came, while the last claim was on its way back.
      if (!this.retryTimer && (this.woken || !this.drained)) this.refill();
    });
  }

  private async claimWhileDue(): Promise<void> {
    try {
      do await this.runOnce();
      while ((this.woken || !this.drained) && this.freeSlots() > 0);
      this.pause = 0;
    } catch {
      // Logged, once for each change, where the connection is. Jitter keeps the replicas from coming back together.
      this.pause = Math.min(longestPause, Math.max(100, this.pause * 2));
      this.retryTimer = setTimeout(
        () => {
          this.retryTimer = undefined;
          this.wake();
        },
        this.pause * (0.5 + Math.random() / 2),
      );
      if (this.stopping) clearTimeout(this.retryTimer);
    }
  }

  private start(claim: Claim): void {
    if (claim.crashes >= soloFromCrashes) void this.startAlone(claim);
    else if (this.gate.enter()) void this.occupySlot(claim).finally(() => this.gate.leave());
    else void this.giveBackLater(claim);
  }

  private async startAlone(claim: Claim): Promise<void> {
    const patience = this.channel.lease - this.channel.sendTimeout - (performance.now() - claim.askedAt);
    const ran = await this.gate.runAlone(() => this.occupySlot(claim), Math.max(0, patience));
    if (!ran) await this.giveBackLater(claim);
  }

  private async occupySlot(claim: Claim): Promise<void> {
    this.busy += 1;
    try {
      await this.deliverClaim.deliver(this.channel, claim);
    } finally {
      this.busy -= 1;
      if (this.woken || !this.drained) this.refill();
    }
  }

  /** A suspect holds this process up, or must wait for another one: this one's turn comes in a moment, here or elsewhere. */
  private async giveBackLater(claim: Claim): Promise<void> {
    const dueAt = (claim.claimedAt + 500 + Math.random() * 1_000) * 1_000;
    await this.claimer.giveBack([claim], () => dueAt).catch(() => undefined);
  }
}
