import {
  DeliveryChannel,
  skipped,
  type Delivery,
  type DeliveryDraft,
  type DeliveryEvent,
  type Outcome,
} from 'nest-deliveries';
import {
  email,
  emailAddress,
  emailChannel,
  EmailChannel,
  EmailModule,
  type Email,
  type EmailAddress,
  type EmailOptions,
} from 'nest-deliveries/email';
import { startDeliveriesApp, type DeliveriesApp, type TestOptions } from '../../support/deliveries-app';
import { from, receipt, templates } from './kinds';

interface Order {
  readonly to: EmailAddress;
  readonly customer: string;
}

export const ordered = (...to: string[]): DeliveryEvent => ({ type: 'ordered', payload: to });

/** Sends a receipt to each address of an `ordered` event, and nothing to customers named `gone`. */
@DeliveryChannel(emailChannel)
export class Receipts extends EmailChannel<Order> {
  deliveries({ type, payload }: DeliveryEvent): DeliveryDraft<Order>[] {
    return type === 'ordered' ? (payload as string[]).map((to) => this.draft(to)) : [];
  }

  draft(to: string, customer = 'Ada'): DeliveryDraft<Order> {
    return { destination: 'a customer', payload: { to: emailAddress(to), customer } };
  }

  message({ payload: { to, customer } }: Delivery<Order>): Email | Outcome {
    if (customer === 'gone') return skipped('address_removed');
    const link = 'https://shop.example/orders/1';
    return email(receipt, to, { customer, message: 'It is on its way.', link, items: [{ name: 'Tea', gift: false }] });
  }
}

/** A second channel on the same relay. */
@DeliveryChannel({ name: 'announcement', maxAge: '3d' })
export class News extends Receipts {
  override deliveries(): DeliveryDraft<Order>[] {
    return [];
  }
}

/** An application with both channels. @param relay a port of loopback with a user and a password, or none */
export const startEmailApp = (
  databaseUrl: string,
  relay: number | undefined,
  { email: given, ...options }: TestOptions & { readonly email?: Partial<EmailOptions> } = {},
): Promise<DeliveriesApp> =>
  startDeliveriesApp(databaseUrl, [Receipts, News], {
    // Where an attempt is the only one, a busy machine must not time it out.
    sendTimeout: '10s',
    lease: '15s',
    ...options,
    imports: [
      EmailModule.forRoot({
        url: relay && `smtp://user:s3cret-word@127.0.0.1:${relay}`,
        from,
        kinds: [receipt],
        templates,
        channels: ['email', 'announcement'],
        probeInterval: 100,
        ...given,
      } as EmailOptions),
    ],
  });
