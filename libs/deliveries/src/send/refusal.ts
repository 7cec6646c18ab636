import type { Delivery } from '../delivery/delivery';
import { failed, type Outcome } from '../delivery/outcome';

/** At this many crashes a delivery fails without another send: whoever sends it does not come back. */
const failAtCrashes = 6;

/**
 * Why a claimed delivery must not be sent; undefined when it should be. Pure.
 *
 * - `crashed`: its workers vanished six times
 * - `expired`: it waited longer than `maxAge`, counted from its creation or an operator's last retry, or past its deadline
 *
 * @param now the database's clock, in ms since 1970
 * @param maxAge in ms
 */
export function refusalToSend(
  delivery: Pick<Delivery, 'createdAt' | 'retriedAt' | 'deadline'>,
  crashes: number,
  now: number,
  maxAge: number,
): Outcome | undefined {
  if (crashes >= failAtCrashes) return failed('crashed');
  const age = now - (delivery.retriedAt ?? delivery.createdAt).getTime();
  const pastDeadline = delivery.deadline !== null && now > delivery.deadline.getTime();
  return age > maxAge || pastDeadline ? failed('expired') : undefined;
}
