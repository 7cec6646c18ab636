/** The states of a delivery. `pending` covers waiting, backing off and being attempted. */
export const deliveryStatuses = ['pending', 'succeeded', 'failed', 'cancelled'] as const;

export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Why an attempt has a row in `delivery_attempts`; an attempt that simply succeeded has none. */
export const attemptOutcomes = ['retried', 'failed', 'skipped', 'crashed', 'cancelled'] as const;

/**
 * - `retried`: sent, or not sent, with an error that a later attempt may not have
 * - `failed`: ended the delivery
 * - `skipped`: ended the delivery well, without a send
 * - `crashed`: the worker vanished; found when the next claim took over the expired lease
 * - `cancelled`: an operator cancelled the delivery while it was under way; what it reports is dropped
 */
export type AttemptOutcome = (typeof attemptOutcomes)[number];
