import type { Channel } from '../channel/channel-registry';
import type { Claimer } from '../claim/claimer';
import type { Claim } from '../delivery/claim';
import type { LaneHolds } from '../pause/lane-holds';

/**
 * In ms. A lane that takes every slot is in the way of whoever comes next until one of its sends ends, so it does so only
 * when no other lane has waited for this long: beside 200 fast receivers, somebody always has.
 */
const crowdedFor = 2_000;

export interface LaneTake {
  readonly claims: Claim[];
  /** Looking again at once is worth while. */
  readonly more: boolean;
}

/** The lanes of one channel in this replica: who has how much in flight, and whose turn it is. */
export class LaneClaim {
  private readonly inFlight = new Map<string, number>();
  private readonly share: number;
  private after = '';
  private fromStart = false;
  private crowdedAt = performance.now();
  private turn: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly channel: Channel,
    private readonly claimer: Claimer,
    private readonly holds: LaneHolds,
  ) {
    this.share = Math.max(1, Math.floor(channel.lane.share * channel.workers * channel.concurrency));
  }

  /** Something changed that may lie behind the scan: it goes round once more. */
  changed(): void {
    this.fromStart = false;
  }

  /**
   * Claims for the free slots. One worker at a time, since what a lane may still have depends on what the other one takes.
   * @param slots asked when the turn has come
   */
  claim(slots: () => number): Promise<LaneTake> {
    const taken = this.turn.then(() => this.take(slots()));
    this.turn = taken.catch(() => undefined);
    return taken;
  }

  /** A claimed delivery occupies its slot no longer. @returns whether its lane had its share, or more */
  ended(lane: string): boolean {
    const busy = this.inFlight.get(lane) ?? 0;
    if (busy > 1) this.inFlight.set(lane, busy - 1);
    else this.inFlight.delete(lane);
    return busy >= this.share;
  }

  private async take(slots: number): Promise<LaneTake> {
    if (slots <= 0) return { claims: [], more: true };
    const first = await this.pass(slots, this.share);
    // Asked of every pass, also of one that took all slots: it may have been the last that others waited for.
    const crowded = this.isCrowded(first.claims);
    if (first.more || crowded) return first;
    // Every lane was looked at, none but one has anything waiting, and slots are left.
    const rest = await this.pass(slots - first.claims.length, Infinity);
    return { claims: [...first.claims, ...rest.claims], more: rest.more };
  }

  private async pass(slots: number, limit: number): Promise<LaneTake> {
    if (this.after === '') this.fromStart = true;
    const free = new Map([...this.inFlight].map(([lane, busy]) => [lane, Math.max(0, Math.min(slots, limit - busy))]));
    for (const lane of this.holds.heldOf(this.channel.name)) free.set(lane, 0);
    const limits = { free, others: Math.min(slots, limit) };
    const { name, lease } = this.channel;
    const { claims, reached, ended } = await this.claimer.claimLanes(name, slots, lease, this.after, limits);
    for (const { delivery } of claims) {
      this.inFlight.set(delivery.lane!, (this.inFlight.get(delivery.lane!) ?? 0) + 1);
    }
    this.after = ended ? '' : (reached ?? '');
    return { claims, more: claims.length === slots || !ended || !this.fromStart };
  }

  /** Whether another lane waits, or did so a moment ago. One that has its share may have more waiting. */
  private isCrowded(claims: readonly Claim[]): boolean {
    const waiting = new Set(claims.map(({ delivery }) => delivery.lane!));
    for (const [lane, busy] of this.inFlight) if (busy >= this.share) waiting.add(lane);
    const now = performance.now();
    if (waiting.size > 1) this.crowdedAt = now;
    return now - this.crowdedAt < crowdedFor;
  }
}
