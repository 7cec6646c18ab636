/**
 * The way on which a claim finds a delivery: by due time (`plain`), by lane (`lane`), or as the head of its ordering key
 * (`ordered`). Each has a statement and an index of its own.
 */
export const claimPaths = ['plain', 'lane', 'ordered'] as const;

export type ClaimPath = (typeof claimPaths)[number];

/** @param lane empty or null for none */
export function claimPathOf(orderingKey: string | null, lane: string | null): ClaimPath {
  if (orderingKey !== null) return 'ordered';
  return lane ? 'lane' : 'plain';
}

/** Deliveries that became due at once. */
export interface DueWork {
  readonly channel: string;
  readonly path: ClaimPath;
  readonly count: number;
}
