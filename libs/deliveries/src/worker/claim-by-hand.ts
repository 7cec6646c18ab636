import type { Channel } from '../channel/channel-registry';
import type { Claimer } from '../claim/claimer';
import type { Claim } from '../delivery/claim';
import type { LaneHolds } from '../pause/lane-holds';

/** Claims one delivery at a time, for a caller who takes the place of the workers. */
export class ClaimByHand {
  constructor(
    private readonly claimer: Claimer,
    private readonly holds: LaneHolds,
  ) {}

  /** The one that has been due longest, of those without a lane first; never one that has an ordering key. */
  async unordered(
    { name, lease }: Channel,
    heldLanes: readonly string[] = this.holds.heldOf(name),
  ): Promise<Claim | undefined> {
    const [plain] = await this.claimer.claim(name, 1, lease, 0);
    if (plain) return plain;
    const held = new Map(heldLanes.map((lane) => [lane, 0]));
    const { claims } = await this.claimer.claimLanes(name, 1, lease, '', { free: held, others: 1 });
    return claims[0];
  }

  /** With or without an ordering key. A lane is left alone by the rows that say so, and not by what this process remembers of it. */
  async any(channel: Channel): Promise<Claim | undefined> {
    await this.holds.written();
    return (await this.unordered(channel, [])) ?? (await this.head(channel));
  }

  private async head({ name, lease }: Channel): Promise<Claim | undefined> {
    const cursor = { key: '', fromStart: true };
    for (;;) {
      const { claims, more } = await this.claimer.claimHeads(name, 1, lease, cursor);
      if (claims[0] || !more) return claims[0];
    }
  }
}
