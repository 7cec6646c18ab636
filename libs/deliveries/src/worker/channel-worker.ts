import type { Claimer, KeyCursor } from '../claim/claimer';
import { DueBound } from '../claim/due-bound';
import type { Claim } from '../delivery/claim';
import type { Channel } from '../channel/channel-registry';
import type { DeliverClaim } from './deliver-claim';
import type { SoloGate } from './solo-gate';

/** From this many crashes on, a delivery is sent while nothing else is. */
const soloFromCrashes = 3;
/** In ms: what PostgreSQL's return, or its end of a stall, is noticed after at the latest. */
const longestPause = 3_000;
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A scan of heads that found nothing is repeated after this many times its own duration: stuck keys cost a fifth at most. */
const scanRest = 4;

/**
 * One worker of a channel: a row of slots. It claims as many due deliveries as it has free slots, starts each of them at
 * once, and refills a slot when it frees up, so that a slow receiver holds up nothing but its own slot.
 */
export class ChannelWorker {
  private readonly bound = new DueBound();
  private readonly cursor: KeyCursor = { key: '', fromStart: false };
  private busy = 0;
  private claiming: Promise<void> | undefined;
  /** `performance.now()` when the look that is under way began. */
  private lookedAt: number | undefined;
  /** Whether a look may find something: the last one was not at the end, or something woke the worker since. */
  private lookForDue = false;
  private lookForHeads = false;
  private headsNotBefore = 0;
  private headsTimer: NodeJS.Timeout | undefined;
  private headsFirst = false;
  private stopping = false;
  /** Claims of which it is not known yet whether they are started or given back. */
  private readonly undecided = new Set<Promise<void>>();
  private pause = 0;
  private retryTimer: NodeJS.Timeout | undefined;

  constructor(
    readonly channel: Channel,
    private readonly claimer: Claimer,
    private readonly deliverClaim: DeliverClaim,
    private readonly gate: SoloGate,
    private readonly room: () => Promise<void>,
    /** Called when this worker has no slot left for what may be waiting. */
    private readonly onFull: () => void,
  ) {}

  /** Deliveries that this worker has in flight. */
  get inFlight(): number {
    return this.busy;
  }

  /** For how long the look that is under way has been, in ms; 0 when none is. Everything in it has a time limit. */
  get lookingFor(): number {
    return this.lookedAt === undefined ? 0 : performance.now() - this.lookedAt;
  }

  get hasRoom(): boolean {
    return this.freeSlots() > 0;
  }

  /** Something may be due: look now. */
  wake(): void {
    this.lookForDue = true;
    this.wakeForHeads();
  }

  /** An ordering key may have a new head: look now. */
  wakeForHeads(): void {
    this.lookForHeads = true;
    this.cursor.fromStart = false;
    this.refill();
  }

  /** Stops claiming; what is claimed and not started is given back, a claim under way when it returns. Resolves then. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.retryTimer);
    await this.claiming;
    // After the claim, which may have set it.
    clearTimeout(this.headsTimer);
    await Promise.all(this.undecided);
  }

  /** Claims for all free slots, once, and starts what it got. @returns how many deliveries were claimed */
  async runOnce(): Promise<number> {
    await this.room();
    // Whoever comes first can take every slot, so they take turns.
    this.headsFirst = !this.headsFirst;
    return this.headsFirst
      ? (await this.claimHeads()) + (await this.claimDue())
      : (await this.claimDue()) + (await this.claimHeads());
  }

  private async claimDue(): Promise<number> {
    const slots = this.freeSlots();
    if (slots === 0 || !this.lookForDue) return 0;
    this.lookForDue = false;
    const { name, lease } = this.channel;
    return this.startAll(async () => {
      const claims = await this.claimer.claim(name, slots, lease, this.bound.next(performance.now()));
      this.bound.observe(slots, claims.length, claims.at(-1)?.wasDueAt ?? 0);
      if (claims.length === slots) this.lookForDue = true;
      return claims;
    });
  }

  private async claimHeads(): Promise<number> {
    const slots = this.freeSlots();
    const began = performance.now();
    if (slots === 0 || !this.lookForHeads || began < this.headsNotBefore) return 0;
    this.lookForHeads = false;
    const { name, lease } = this.channel;
    return this.startAll(async () => {
      const { claims, more } = await this.claimer.claimHeads(name, slots, lease, this.cursor);
      if (more) this.lookForHeads = true;
      if (claims.length === 0) this.restFromHeads(performance.now() - began);
      return claims;
    });
  }

  private restFromHeads(took: number): void {
    // Of a scan that took long because PostgreSQL stood still, the duration says nothing.
    const rest = Math.min(longestPause, scanRest * took);
    this.headsNotBefore = performance.now() + rest;
    clearTimeout(this.headsTimer);
    this.headsTimer = setTimeout(() => {
      // The timer itself ends the rest: it can fire a fraction of a millisecond before the clock says so, and nothing else
      // would come by to look.
      this.headsNotBefore = 0;
      this.refill();
    }, rest);
  }

  private async startAll(claim: () => Promise<readonly Claim[]>): Promise<number> {
    this.gate.enter();
    try {
      const claims = await claim();
      if (this.stopping) await this.claimer.giveBack(claims, ({ wasDueAt }) => wasDueAt);
      else for (const each of claims) this.start(each);
      return claims.length;
    } finally {
      this.gate.leave();
    }
  }

  private freeSlots(): number {
    if (this.stopping || !this.gate.open) return 0;
    return this.channel.concurrency - this.busy;
  }

  private get shouldLook(): boolean {
    return this.lookForDue || (this.lookForHeads && performance.now() >= this.headsNotBefore);
  }

  private refill(): void {
    if (this.claiming || this.retryTimer || !this.shouldLook || this.freeSlots() === 0) return;
    this.claiming = this.claimWhileDue().finally(() => {
      this.claiming = undefined;
      this.lookedAt = undefined;
      // A slot that freed up, or a wake-up that came, while the last claim was on its way back.
      this.refill();
    });
  }

  private async claimWhileDue(): Promise<void> {
    try {
      while (this.shouldLook && this.freeSlots() > 0) {
        // What ends in this turn of the event loop frees its slots for one claim, instead of one claim each.
        await nextTurn();
        this.lookedAt = performance.now();
        await this.runOnce();
      }
      this.pause = 0;
      if (this.shouldLook) this.onFull();
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
    if (claim.crashes < soloFromCrashes) {
      this.gate.enter();
      void this.occupySlot(claim).finally(() => this.gate.leave());
    } else {
      this.untilDecided(this.gate.open ? this.startAlone(claim) : this.giveBackLater(claim));
    }
  }

  private untilDecided(decision: Promise<void>): void {
    const decided = decision.finally(() => this.undecided.delete(decided));
    this.undecided.add(decided);
  }

  /** Resolves when the suspect is started or given back. */
  private startAlone(claim: Claim): Promise<void> {
    const patience = this.channel.lease - this.channel.sendTimeout - (performance.now() - claim.askedAt);
    return new Promise((decided) => {
      const occupy = (): Promise<void> => {
        decided();
        return this.occupySlot(claim);
      };
      void this.gate
        .runAlone(occupy, Math.max(0, patience))
        .then((ran) => (ran ? undefined : this.giveBackLater(claim)))
        .finally(decided);
    });
  }

  private async occupySlot(claim: Claim): Promise<void> {
    this.busy += 1;
    try {
      await this.deliverClaim.deliver(this.channel, claim);
    } finally {
      this.busy -= 1;
      this.refill();
    }
  }

  /**
   * A suspect that must wait for another one: its turn comes in a moment, here or elsewhere. Elsewhere, and so at once,
   * when this process stops.
   */
  private async giveBackLater(claim: Claim): Promise<void> {
    const dueAt = this.stopping ? claim.wasDueAt : (claim.claimedAt + 500 + Math.random() * 1_000) * 1_000;
    this.gate.enter();
    await this.claimer.giveBack([claim], () => dueAt).catch(() => undefined);
    this.gate.leave();
  }
}
