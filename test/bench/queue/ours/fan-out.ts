import { DeliveryChannel, DeliveryRecorder, succeeded, type DeliveryDraft, type DeliveryEvent } from 'nest-deliveries';
import type { EntityManager } from 'typeorm';
import { startApplication } from './application';

interface Recipient {
  id: string;
  name: string;
}

/** One announcement to everybody: the fan-out reads the recipients in the caller's transaction. */
@DeliveryChannel({ name: 'announcement', maxAge: '3d' })
class AnnouncementChannel {
  async deliveries(event: DeliveryEvent, tx: EntityManager): Promise<DeliveryDraft[]> {
    if (event.type !== 'announced') return [];
    const recipients: Recipient[] = await tx.query('SELECT id, name FROM recipients');
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

export async function fanOut(url: string): Promise<{ run(): Promise<void>; close(): Promise<void> }> {
  const app = await startApplication(url, { workers: 0 }, { channels: [AnnouncementChannel] });
  const recorder = app.get(DeliveryRecorder);
  return {
    async run() {
      await recorder.transaction((tx) => recorder.record(tx, { type: 'announced', payload: { announcementId: 1 } }));
    },
    close: () => app.close(),
  };
}
