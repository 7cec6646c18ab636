import { Inject, Injectable } from '@nestjs/common';
import {
  skipped,
  type Attempt,
  type ChannelHandler,
  type Delivery,
  type DeliveryChannelOptions,
  type DeliveryEvent,
  type Drafts,
  type Outcome,
} from 'nest-deliveries';
import type { EntityManager } from 'typeorm';
import type { Email } from '../compose/email-kind';
import { EmailSender, noRelay } from './email-sender';

/** What `@DeliveryChannel` is given for a channel of transactional messages: a relay may be away for a day. */
export const emailChannel = { name: 'email', maxAge: '24h' } as const satisfies DeliveryChannelOptions;

/**
 * A channel whose deliveries are emails. Extend it, decorate it with `@DeliveryChannel(emailChannel)`, and say which deliveries an
 * event causes and what each says; the rest is done here.
 */
@Injectable()
export abstract class EmailChannel<
  Payload = unknown,
  Recipient = unknown,
  Event extends DeliveryEvent = DeliveryEvent,
> implements ChannelHandler<Payload, Recipient, Event> {
  constructor(@Inject(EmailSender) protected readonly email: EmailSender) {}

  /** As in `ChannelHandler`. An address that is copied into a payload goes through `emailAddress`, which refuses lists. */
  abstract deliveries(
    event: Event,
    tx: EntityManager,
  ): Drafts<Payload, Recipient> | Promise<Drafts<Payload, Recipient>>;

  /**
   * The message of a delivery, the same on every attempt; or an outcome in its place, such as `skipped('address_removed')` when
   * there is nothing to send any more. Made by `email(kind, to, content)`.
   */
  abstract message(
    delivery: Delivery<Payload, Recipient>,
    attempt: Attempt,
  ): Promise<Email | Outcome> | Email | Outcome;

  async send(delivery: Delivery<Payload, Recipient>, attempt: Attempt): Promise<Outcome> {
    if (!this.email.hasRelay) return skipped(noRelay);
    const message = await this.message(delivery, attempt);
    return 'type' in message ? message : this.email.send(delivery, message, attempt);
  }
}
