import type { DeliveryEvent } from 'nest-deliveries';

/** A session ended before its time. Record one for each session, in the transaction that ends it. */
export type SessionRevoked = DeliveryEvent<'session_revoked', EndedSession>;

interface EndedSession {
  /** The subject, as in the ID tokens that clients received from the session: an id, never an address. */
  readonly sub: string;
  /** The session's id, as in the same ID tokens. */
  readonly sid: string;
}

/** @param session `sub` and `sid` as its ID tokens have them */
export const sessionRevoked = ({ sub, sid }: EndedSession, actor?: string): SessionRevoked => ({
  type: 'session_revoked',
  payload: { sub, sid },
  ...(actor !== undefined && { actor }),
});

export const isSessionRevoked = (event: DeliveryEvent): event is SessionRevoked => event.type === 'session_revoked';
