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
import { isAccountCreated } from '../accounts/account-created';
import { Account } from '../accounts/account.entity';
import { ReplicaName } from '../configuration';
import { Partner } from './partner.entity';

/** All that a send needs: a partner that moves or leaves later changes nothing about what was promised. */
interface PartnerNotification {
  readonly url: string;
  readonly body: { readonly type: string; readonly accountId: string; readonly handle: string };
}

interface Recipient {
  readonly partnerId: string;
}

/** Tells every partner of every new account. */
@DeliveryChannel({ name: 'partner_notification', maxAge: '1d' })
export class PartnerNotificationChannel implements ChannelHandler<PartnerNotification, Recipient> {
  constructor(
    private readonly http: OutboundHttp,
    private readonly replica: ReplicaName,
  ) {}

  async deliveries(event: DeliveryEvent, tx: EntityManager): Promise<DeliveryDraft<PartnerNotification, Recipient>[]> {
    if (!isAccountCreated(event)) return [];
    const { id, handle } = await tx.findOneByOrFail(Account, { id: event.payload!.accountId });
    const partners = await tx.find(Partner);
    return partners.map((partner) => ({
      destination: `partner ${partner.name}`,
      recipient: { partnerId: partner.id },
      payload: { url: partner.endpoint, body: { type: event.type, accountId: id, handle } },
    }));
  }

  async send({ id, payload }: Delivery<PartnerNotification>, attempt: Attempt): Promise<Outcome> {
    const result = await this.http.post(payload.url, {
      headers: {
        'content-type': 'application/json',
        // The same on every attempt: a partner that has seen it already answers 200 and does nothing.
        'delivery-id': id,
        'user-agent': `nest-deliveries-reference (replica ${this.replica.name})`,
      },
      body: JSON.stringify(payload.body),
      // Before the signal, at which the client could only say that it was aborted, and not in which phase.
      timeout: Math.max(1, attempt.remaining() - 100),
      signal: attempt.signal,
    });
    return outcomeOf(result);
  }
}
