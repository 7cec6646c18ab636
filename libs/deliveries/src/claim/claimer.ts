import { randomUUID } from 'node:crypto';
import type { WorkerDatabase } from '../database/worker-database';
import { claimOf, placedClaimOf, type Claim, type ClaimRow, type UnplacedRow } from '../delivery/claim';
import { claimPaths, type ClaimPath } from '../delivery/claim-path';
import { claimHeadsSql } from './claim-heads.sql';
import { claimLanesSql } from './claim-lanes.sql';
import { claimSql, giveBackSql, isHeldSql } from './claim.sql';
import { waitingSql } from './waiting.sql';

/** What a look at the heads of ordering keys gave. */
export interface ClaimedHeads {
  readonly claims: Claim[];
  /** Not every key was looked at yet: looking again goes on where this look stopped. */
  readonly more: boolean;
}

/** Where a worker's scan of the keys stands. */
export interface KeyCursor {
  /** The scan goes on after this key; at the beginning when it is empty. */
  key: string;
  /**
   * Everything that is of interest now lies ahead of the scan, which ends with the index. To be set to false whenever
   * something changed behind it: then the scan begins anew after the end, once. To begin anew each time would look at
   * keys that are stuck in a circle.
   */
  fromStart: boolean;
}

/** What a pass over the lanes gave. */
export interface ClaimedLanes {
  readonly claims: Claim[];
  /** The last lane that was looked at; undefined when there was none. */
  readonly reached: string | undefined;
  /** No lane comes after it. */
  readonly ended: boolean;
}

/** How many deliveries each lane may have claimed in one pass. */
export interface LaneLimits {
  /** Of the lanes that have deliveries in flight, or are held. */
  readonly free: ReadonlyMap<string, number>;
  /** Of any other lane. */
  readonly others: number;
}

type LaneRow = { reached: string | null; ended: boolean } & (ClaimRow | { id: null });

type HeadRow = { more: boolean; released: boolean; cursor: string | null } & (ClaimRow | { id: null });

/** Keys, or lanes, that one scan looks at. Above it the scan goes on in the next claim, from where it stopped. */
const probes = 1_000;

/** Takes deliveries of a channel for this process, and gives back those that it will not send after all. */
export class Claimer {
  private readonly claimText: string;
  private readonly claimHeadsText: string;
  private readonly claimLanesText: string;
  private readonly waitingText: string;
  private readonly giveBackText: string;
  private readonly isHeldText: string;

  constructor(
    private readonly database: WorkerDatabase,
    schema: string,
  ) {
    this.claimText = claimSql(schema);
    this.claimHeadsText = claimHeadsSql(schema);
    this.claimLanesText = claimLanesSql(schema);
    this.waitingText = waitingSql(schema);
    this.giveBackText = giveBackSql(schema);
    this.isHeldText = isHeldSql(schema);
  }

  /**
   * Claims up to `slots` due deliveries without an ordering key or a lane, longest due first.
   * @param lease in ms
   * @param dueFrom lower bound of the due time, in microseconds since 1970; 0 for none
   */
  async claim(channel: string, slots: number, lease: number, dueFrom: number): Promise<Claim[]> {
    // Read before the statement leaves: however long the reply takes, the lease is never thought longer than it is.
    const askedAt = performance.now();
    const token = randomUUID();
    const rows = await this.database.query<UnplacedRow>('deliveries_claim', this.claimText, [
      channel,
      slots,
      lease,
      dueFrom,
      token,
    ]);
    const place = { channel, ordering_key: null, lane: '' };
    return rows.map((row) => placedClaimOf(row, place, token, askedAt)).toSorted((a, b) => a.wasDueAt - b.wasDueAt);
  }

  /**
   * Claims up to `slots` due deliveries lane by lane.
   * @param after the lane after which the scan begins; empty for the first
   */
  async claimLanes(
    channel: string,
    slots: number,
    lease: number,
    after: string,
    limits: LaneLimits,
  ): Promise<ClaimedLanes> {
    const askedAt = performance.now();
    const token = randomUUID();
    const rows = await this.database.query<LaneRow>('deliveries_claim_lanes', this.claimLanesText, [
      channel,
      slots,
      lease,
      after,
      probes,
      [...limits.free.keys()],
      [...limits.free.values()],
      limits.others,
      token,
    ]);
    const { reached, ended } = rows[0]!;
    return { claims: claimsOf(rows, token, askedAt), reached: reached ?? undefined, ended };
  }

  /** On which paths a claim might find something: never too few. */
  async waiting(channel: string): Promise<ClaimPath[]> {
    const [row] = await this.database.query<Record<ClaimPath, boolean>>('deliveries_waiting', this.waitingText, [
      channel,
    ]);
    return claimPaths.filter((path) => row![path]);
  }

  /**
   * Claims up to `slots` due heads of ordering keys.
   * @param cursor where the scan stands in the keys; moved on
   */
  async claimHeads(channel: string, slots: number, lease: number, cursor: KeyCursor): Promise<ClaimedHeads> {
    if (cursor.key === '') cursor.fromStart = true;
    const askedAt = performance.now();
    const token = randomUUID();
    const values = [channel, slots, lease, cursor.key, probes, token];
    const rows = await this.database.query<HeadRow>('deliveries_heads', this.claimHeadsText, values);
    const { more, released, cursor: reached } = rows[0]!;
    // What follows a head that was released is behind the scan.
    if (released) cursor.fromStart = false;
    cursor.key = more && reached !== null ? reached : '';
    return { claims: claimsOf(rows, token, askedAt), more: more || !cursor.fromStart };
  }

  /** Whether the delivery is still this claim's to send. */
  async isHeld({ delivery, token }: Claim): Promise<boolean> {
    const rows = await this.database.query('deliveries_is_held', this.isHeldText, [delivery.id, token]);
    return rows.length === 1;
  }

  /**
   * Gives claims back without an attempt.
   * @param dueAt when each is due again, in microseconds since 1970
   */
  async giveBack(claims: readonly Claim[], dueAt: (claim: Claim) => number): Promise<void> {
    await this.database.query('deliveries_give_back', this.giveBackText, [
      claims.map((claim) => claim.delivery.id),
      claims.map((claim) => claim.token),
      claims.map(dueAt),
    ]);
  }
}

const claimsOf = (rows: readonly (ClaimRow | { id: null })[], token: string, askedAt: number): Claim[] =>
  rows.flatMap((row) => (row.id === null ? [] : [claimOf(row, token, askedAt)]));
