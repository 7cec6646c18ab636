/**
 * Whether a row that was found by its id is still pending, in words that fit no index. A plan that is made while the table is empty
 * takes any index that the words fit for as good as the primary key, and is kept: it then reads all that is pending for each row.
 */
export const stillPending = (alias: string): string => `${alias}.status || '' = 'pending'`;

/**
 * Which rows hold their key back, in SQL: one that is pending or failed, and a cancelled one whose attempt may still reach
 * the receiver. The first of a key among them, by ordinal, is its head. The same words stand in the predicate of
 * `deliveries_unfinished_idx`, which is the only way for the planner to use it.
 */
export const unfinished = (alias: string): string =>
  `${alias}.ordering_key IS NOT NULL AND (${alias}.status IN ('pending', 'failed') OR ${alias}.lease_expires_at IS NOT NULL)`;
