import { Injectable } from '@nestjs/common';
import { DeliveryRecorder, type DeliveryEvent } from 'nest-deliveries';
import type { EntityManager } from 'typeorm';
import type { Notification } from './notification';

/** A notification that was written, and whose inbox it is in. */
export interface WrittenNotification {
  readonly id: string;
  readonly accountId: string;
}

/** An event that gave notifications. It carries their ids: what they say is read in the same transaction. */
export type NotifyingEvent = DeliveryEvent<string, { readonly notifications: readonly WrittenNotification[] }>;

/** The notifications of an event; none for an event that gave none. */
export const notificationsOf = (event: DeliveryEvent): readonly WrittenNotification[] =>
  (event.payload as Partial<NotifyingEvent['payload']> | undefined)?.notifications ?? [];

@Injectable()
export class Notifier {
  constructor(private readonly recorder: DeliveryRecorder) {}

  /**
   * Writes an event's notifications to the inboxes and records the event with them: what is in an inbox and what is sent come
   * from the same rows, and are committed together. The one way to notify anybody.
   */
  async record(
    tx: EntityManager,
    event: DeliveryEvent<string, object>,
    notifications: readonly (Notification & { readonly accountId: string })[],
  ): Promise<void> {
    const written: WrittenNotification[] = [];
    for (const { accountId, kind, data } of notifications) {
      const [{ id }] = await tx.query<[{ id: string }]>(
        'INSERT INTO notifications (account_id, kind, data) VALUES ($1, $2, $3) RETURNING id',
        [accountId, kind, JSON.stringify(data)],
      );
      written.push({ id, accountId });
    }
    await this.recorder.record(tx, { ...event, payload: { ...event.payload, notifications: written } });
  }
}
