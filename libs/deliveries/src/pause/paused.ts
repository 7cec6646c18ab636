/**
 * Whether claims leave something alone, in SQL. A pause ends by itself at `until`: nobody has to take it away in time.
 * `now()`, as in every predicate: the planner sees an expression that is fixed for the statement.
 */
const inForce = `(p.until IS NULL OR p.until > now())`;

/** A channel as a whole. @param channel an expression, such as a parameter */
export const channelPaused = (schema: string, channel: string): string =>
  `EXISTS (SELECT 1 FROM ${schema}.delivery_pauses p WHERE p.channel = ${channel} AND p.lane = '' AND ${inForce})`;

/** One lane of a channel; false for the empty lane, which is no lane. @param lane an expression */
export const lanePaused = (schema: string, channel: string, lane: string): string =>
  `(${lane} <> '' AND EXISTS (SELECT 1 FROM ${schema}.delivery_pauses p WHERE p.channel = ${channel} AND p.lane = ${lane} AND ${inForce}))`;
