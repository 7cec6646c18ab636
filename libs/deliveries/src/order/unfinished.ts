/**
 * Which rows hold their key back, in SQL: one that is pending or failed, and a cancelled one whose attempt may still reach
 * the receiver. The first of a key among them, by ordinal, is its head. The same words stand in the predicate of
 * `deliveries_unfinished_idx`, which is the only way for the planner to use it.
 */
export const unfinished = (alias: string): string =>
  `${alias}.ordering_key IS NOT NULL AND (${alias}.status IN ('pending', 'failed') OR ${alias}.lease_expires_at IS NOT NULL)`;
