import type { Claimer, KeyCursor } from '../claim/claimer';
import { DueBound } from '../claim/due-bound';
import type { Claim } from '../delivery/claim';
import { claimPaths, type ClaimPath } from '../delivery/claim-path';
import type { Channel } from '../channel/channel-registry';
import type { DeliverClaim } from './deliver-claim';
import type { LaneClaim } from './lane-claim';
import { Ongoing } from './ongoing';
import { Outlook } from './outlook';
import type { SoloGate } from './solo-gate';

/** From this many crashes on, a delivery is sent while nothing else is. */
const soloFromCrashes = 3;
/** In ms: what PostgreSQL's return, or its end of a stall, is noticed after at the latest. */
const longestPause = 3_000;
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/**
 * One worker of a channel: a row of slots. It claims as many due deliveries as it has free slots, starts each of them at
 * once, and refills a slot when it frees up, so that a slow receiver holds up nothing but its own slot.
 */
export class ChannelWorker {
  private readonly bound = new DueBound();
  private readonly cursor: KeyCursor = { key: '', fromStart: false };
  private readonly slots = new Ongoing();
  /** Slots of claims that are about to be started. */
  private reserved = 0;
  /** Half of many slots, so that one half is claimed while the other is started. */
  private readonly claimAtMost: number;
  private claiming: Promise<void> | undefined;
  /** `performance.now()` when the look that is under way began. */
  private lookedAt: number | undefined;
  private readonly outlook = new Outlook(longestPause, () => this.refill());
  private firstPath = 0;
  private polling = false;
  private stopping = false;
  /** Claims of which it is not known yet whether they are started or given back. */
  private readonly undecided = new Set<Promise<void>>();
  private pause = 0;
  private readonly leaveGate = (): void => this.gate.leave();
  private retryTimer: NodeJS.Timeout | undefined;

  constructor(
    readonly channel: Channel,
    private readonly claimer: Claimer,
    private readonly deliverClaim: DeliverClaim,
    private readonly lanes: LaneClaim,
    private readonly gate: SoloGate,
    private readonly roomToSettle: () => Promise<void>,
    /** Called when this worker has no slot left for what may be waiting. */
    private readonly onFull: () => void,
  ) {
    this.claimAtMost = Math.max(50, Math.ceil(channel.concurrency / 2));
  }

  /** Deliveries that this worker has in flight. */
  get inFlight(): number {
    return this.slots.now;
  }

  /** For how long the look that is under way has been, in ms; 0 when none is. Everything in it has a time limit. */
  get lookingFor(): number {
    return this.lookedAt === undefined ? 0 : performance.now() - this.lookedAt;
  }

  get room(): number {
    return this.freeSlots();
  }

  /** Something may be due on these paths: look now. */
  wake(paths: readonly ClaimPath[] = claimPaths): void {
    for (const path of paths) this.outlook.open(path);
    if (paths.includes('lane')) this.lanes.changed();
    if (paths.includes('ordered')) this.cursor.fromStart = false;
    this.refill();
  }

  /** Asks first what may be due, which for a worker that has nothing to do is one cheap statement in the place of three claims. */
  async poll(): Promise<void> {
    if (this.claiming || this.retryTimer || this.freeSlots() === 0) return this.wake();
    if (this.polling) return;
    this.polling = true;
    try {
      this.wake(await this.claimer.waiting(this.channel.name));
    } catch {
      // Logged, once for each change, where the connection is; the next poll asks again.
    } finally {
      this.polling = false;
    }
  }

  /** Stops claiming; what is claimed and not started is given back, a claim under way when it returns. Resolves then. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.retryTimer);
    await this.claiming;
    // After the claim, which may have set timers.
    this.outlook.close();
    await Promise.all(this.undecided);
  }

  /** Resolves when no delivery occupies a slot. */
  idle(): Promise<void> {
    return this.slots.none();
  }

  /** Claims for all free slots, once, and starts what it got. @returns how many deliveries were claimed */
  async runOnce(): Promise<number> {
    await this.roomToSettle();
    // Whoever comes first can take every slot, so they take turns.
    this.firstPath += 1;
    let claimed = 0;
    for (let turn = 0; turn < claimPaths.length; turn += 1) {
      claimed += await this.claimOn(claimPaths[(this.firstPath + turn) % claimPaths.length]!);
    }
    return claimed;
  }

  private async claimOn(path: ClaimPath): Promise<number> {
    if (!this.outlook.on(path) || this.freeSlots() === 0) return 0;
    this.outlook.looked(path);
    const began = performance.now();
    return this.startAll(async () => {
      const { claims, more } = await this.ask(path);
      if (more) this.outlook.open(path);
      if (claims.length === 0 && path !== 'plain') this.outlook.rest(path, performance.now() - began);
      return claims;
    });
  }

  private async ask(path: ClaimPath): Promise<{ claims: readonly Claim[]; more: boolean }> {
    const slots = this.claimSlots();
    const { name, lease } = this.channel;
    switch (path) {
      case 'plain': {
        const claims = await this.claimer.claim(name, slots, lease, this.bound.next(performance.now()));
        this.bound.observe(slots, claims.length, claims.at(-1)?.wasDueAt ?? 0);
        return { claims, more: claims.length === slots };
      }
      case 'lane':
        return this.lanes.claim(() => this.claimSlots());
      case 'ordered':
        return this.claimer.claimHeads(name, slots, lease, this.cursor);
    }
  }

  private async startAll(claim: () => Promise<readonly Claim[]>): Promise<number> {
    this.gate.enter();
    try {
      const claims = await claim();
      if (this.stopping) await this.giveBack(claims);
      else if (claims.length < this.claimAtMost) for (const each of claims) this.start(each);
      else this.untilDecided(this.startLater(claims));
      return claims.length;
    } finally {
      this.gate.leave();
    }
  }

  /**
   * Starts a large claim when the next one has been asked for: PostgreSQL works on that one while this process is busy with these.
   * Measured with sends that take no time: the two waited for each other a quarter of the time.
   */
  private async startLater(claims: readonly Claim[]): Promise<void> {
    this.reserved += claims.length;
    this.gate.enter();
    try {
      await nextTurn();
      this.reserved -= claims.length;
      if (this.stopping) await this.giveBack(claims);
      else for (const each of claims) this.start(each);
    } finally {
      this.gate.leave();
    }
  }

  private giveBack(claims: readonly Claim[]): Promise<void> {
    return this.claimer.giveBack(claims, ({ wasDueAt }) => wasDueAt);
  }

  private claimSlots(): number {
    return Math.min(this.freeSlots(), this.claimAtMost);
  }

  private freeSlots(): number {
    if (this.stopping || !this.gate.open) return 0;
    return this.channel.concurrency - this.slots.now - this.reserved;
  }

  private refill(): void {
    if (this.claiming || this.retryTimer || !this.outlook.any || this.freeSlots() === 0) return;
    this.claiming = this.claimWhileDue().finally(() => {
      this.claiming = undefined;
      this.lookedAt = undefined;
      // A slot that freed up, or a wake-up that came, while the last claim was on its way back.
      this.refill();
    });
  }

  private async claimWhileDue(): Promise<void> {
    try {
      while (this.outlook.any && this.freeSlots() > 0) {
        // What ends in this turn of the event loop frees its slots for one claim, instead of one claim each.
        if (this.freeSlots() < this.claimAtMost) await nextTurn();
        this.lookedAt = performance.now();
        await this.runOnce();
      }
      this.pause = 0;
      if (this.outlook.any) this.onFull();
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
      void this.occupySlot(claim, this.leaveGate);
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

  private async occupySlot(claim: Claim, then?: () => void): Promise<void> {
    this.slots.begin();
    try {
      await this.deliverClaim.deliver(this.channel, claim);
    } finally {
      this.slots.end();
      this.leaveLane(claim);
      this.refill();
      then?.();
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
    this.leaveLane(claim);
    this.gate.leave();
  }

  private leaveLane({ delivery }: Claim): void {
    if (delivery.lane === null || delivery.orderingKey !== null) return;
    const hadItsShare = this.lanes.ended(delivery.lane);
    if (!hadItsShare) return;
    // More may wait in it, which the last look stepped over.
    this.lanes.changed();
    this.outlook.open('lane');
  }
}
