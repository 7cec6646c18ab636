import {
  DeliveryChannel,
  draftsFrom,
  succeeded,
  type ChannelHandler,
  type Delivery,
  type DeliveryEvent,
} from 'nest-deliveries';
import type { ForCustomer } from './warehouse.channel';

export interface Issue {
  readonly issueId: string;
}

@DeliveryChannel({ name: 'newsletter', maxAge: '3d' })
export class NewsletterChannel implements ChannelHandler<Issue, ForCustomer> {
  deliveries({ type, payload }: DeliveryEvent) {
    if (type !== 'issue_published') return [];
    const { issueId } = payload as Issue;
    return draftsFrom(
      `SELECT 'customer ' || id AS destination,
              jsonb_build_object('issueId', $1::text) AS payload,
              jsonb_build_object('customerId', id) AS recipient
         FROM customer WHERE subscribed`,
      [issueId],
    );
  }

  async send({ recipient, payload }: Delivery<Issue, ForCustomer>) {
    void [recipient?.customerId, payload.issueId]; // … and here whatever sends it.
    return succeeded();
  }
}
