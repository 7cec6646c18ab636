import { Injectable } from '@nestjs/common';
import { DeliveryRecorder } from 'nest-deliveries';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { announcementSent } from './announcement-sent';
import { fillInboxesSql, progressSql } from './announcements.sql';

/** What is announced. */
export interface NewAnnouncement {
  readonly subject: string;
  readonly text: string;
  /** Goes by email also to those who want none, without a link to unsubscribe. */
  readonly essential: boolean;
}

/** How far it is. */
export interface AnnouncementProgress extends NewAnnouncement {
  readonly id: string;
  readonly sentAt: Date;
  readonly recipients: number;
  /** Deliveries that it caused: the sum of the next six. */
  readonly emails: number;
  readonly pending: number;
  readonly sent: number;
  readonly skipped: number;
  readonly failed: number;
  readonly cancelled: number;
  /** Deleted since, by a purge or when their retention was over. */
  readonly removed: number;
}

@Injectable()
export class AnnouncementsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly recorder: DeliveryRecorder,
  ) {}

  /**
   * Writes an announcement to every inbox and records what is to be emailed: a handful of statements, however many recipients.
   * @returns its id
   */
  send({ subject, text, essential }: NewAnnouncement, actor: string): Promise<string> {
    return this.recorder.transaction(async (tx) => {
      const id = randomUUID();
      await tx.query('INSERT INTO announcements (id, subject, text, essential) VALUES ($1, $2, $3, $4)', [
        id,
        subject,
        text,
        essential,
      ]);
      await tx.query(fillInboxesSql, [id]);
      const { eventId, queried } = await this.recorder.record(tx, announcementSent(id, actor));
      await tx.query(
        `UPDATE announcements SET event_id = $2, emails = $3,
                recipients = (SELECT count(*) FROM notifications WHERE announcement_id = $1)
          WHERE id = $1`,
        [id, eventId, queried],
      );
      return id;
    });
  }

  /** @returns undefined for an unknown one */
  async progress(id: string): Promise<AnnouncementProgress | undefined> {
    const [row] = await this.dataSource.query<AnnouncementProgress[]>(progressSql, [id]);
    return row;
  }
}
