import {
  DeliveryChannel,
  type Attempt,
  type ChannelHandler,
  type Delivery,
  type DeliveryDraft,
  type DeliveryEvent,
  type Outcome,
} from 'nest-deliveries';
import { OutboundHttp, outcomeOf } from 'nest-deliveries/outbound-http';
import type { EntityManager } from 'typeorm';
import type { BackchannelLogoutOptions } from './options/backchannel-logout-options';
import { isSessionRevoked } from './session-revoked';
import { logoutClaims } from './token/logout-claims';
import { signLogoutToken } from './token/sign-logout-token';
import { requireSigningKey } from './token/signing-key';

/** Where a token goes. */
export interface LogoutDestination {
  readonly logoutUri: string;
}

/** Whom a token is for and whom it is about, as they were when the session ended. */
export interface LogoutRecipient {
  readonly clientId: string;
  readonly sub: string;
  readonly sid: string;
}

/**
 * Tells relying parties that a session ended: OpenID Connect Back-Channel Logout 1.0.
 *
 * What is stored is the intent. The token is signed anew for each attempt, since one that was made with the delivery would have
 * expired by the time of a retry, and perhaps been signed with a key that is no longer published.
 */
@DeliveryChannel({ name: 'backchannel_logout', maxAge: '1h' })
export class BackchannelLogoutChannel implements ChannelHandler<LogoutDestination, LogoutRecipient> {
  constructor(
    private readonly http: OutboundHttp,
    private readonly options: BackchannelLogoutOptions,
  ) {}

  async deliveries(
    event: DeliveryEvent,
    tx: EntityManager,
  ): Promise<DeliveryDraft<LogoutDestination, LogoutRecipient>[]> {
    if (!isSessionRevoked(event)) return [];
    const { sub, sid } = event.payload!;
    const clients = await this.options.clientsOf({ sub, sid }, tx);
    return clients.map(({ clientId, logoutUri }) => ({
      destination: `client ${clientId}`,
      recipient: { clientId, sub, sid },
      payload: { logoutUri },
      // A client whose server is down holds up its own tokens, and no other client's.
      lane: clientId,
    }));
  }

  async send(
    { id, payload, recipient }: Delivery<LogoutDestination, LogoutRecipient>,
    attempt: Attempt,
  ): Promise<Outcome> {
    const key = requireSigningKey(await this.options.signingKey());
    const { issuer } = this.options;
    const token = await signLogoutToken(logoutClaims({ issuer, ...recipient!, deliveryId: id, now: Date.now() }), key);
    const result = await this.http.post(payload.logoutUri, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token: token }).toString(),
      // Before the signal, at which the client could only say that it was aborted, and not in which phase.
      timeout: Math.max(1, attempt.remaining() - 100),
      signal: attempt.signal,
    });
    return outcomeOf(result);
  }
}
