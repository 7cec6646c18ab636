import type { Type } from '@nestjs/common';
import {
  DeliveryChannel,
  DeliveryRecorder,
  draftsFrom,
  succeeded,
  type ChannelHandler,
  type DeliveryEvent,
  type Drafts,
} from 'nest-deliveries';
import type { EntityManager } from 'typeorm';
import type { Contender } from '../contender';
import { startApplication } from './application';

/** An announcement to everybody: the deliveries are the rows of a query. */
@DeliveryChannel({ name: 'announcement', maxAge: '3d' })
class QueryChannel {
  deliveries({ type }: DeliveryEvent): Drafts {
    if (type !== 'announced') return [];
    return draftsFrom(
      `SELECT name AS destination, jsonb_build_object('announcementId', $1::integer) AS payload,
              jsonb_build_object('accountId', id) AS recipient
         FROM recipients`,
      [1],
    );
  }

  async send() {
    return succeeded();
  }
}

/** The same announcement, whose deliveries pass through this process. */
@DeliveryChannel({ name: 'announcement', maxAge: '3d' })
class ListChannel {
  async deliveries({ type }: DeliveryEvent, tx: EntityManager): Promise<Drafts> {
    if (type !== 'announced') return [];
    const recipients: { id: string; name: string }[] = await tx.query('SELECT id, name FROM recipients');
    return recipients.map(({ id, name }) => ({
      destination: name,
      recipient: { accountId: id },
      payload: { announcementId: 1 },
    }));
  }

  async send() {
    return succeeded();
  }
}

const through =
  (channel: Type<ChannelHandler>): NonNullable<Contender['fanOut']> =>
  async (url) => {
    const app = await startApplication(url, { workers: 0 }, { channels: [channel] });
    const recorder = app.get(DeliveryRecorder);
    return {
      async run() {
        await recorder.transaction((tx) => recorder.record(tx, { type: 'announced', payload: { announcementId: 1 } }));
      },
      close: () => app.close(),
    };
  };

export const fanOutByQuery = through(QueryChannel);
export const fanOutByList = through(ListChannel);
