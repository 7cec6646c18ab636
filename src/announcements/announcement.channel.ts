import {
  DeliveryChannel,
  draftsFrom,
  skipped,
  type Delivery,
  type DeliveryEvent,
  type Drafts,
  type Outcome,
} from 'nest-deliveries';
import { email, EmailChannel, emailAddress, EmailSender, type Email } from 'nest-deliveries/email';
import { DataSource } from 'typeorm';
import { LinkTokens } from '../links/link-tokens';
import { PublicPages } from '../links/public-pages';
import { announcement } from '../mail/message-kinds';
import { isAnnouncementSent } from './announcement-sent';
import { fanOutSql, messageSql } from './announcements.sql';

interface AnnouncementPayload {
  readonly announcementId: string;
}

interface AnnouncementRecipient {
  readonly accountId: string;
}

interface Row {
  readonly subject: string;
  readonly text: string;
  readonly essential: boolean;
  /** The next four: null for an account that is gone. */
  readonly handle: string;
  readonly email: string | null;
  readonly recipient: boolean | null;
  readonly wanted: boolean;
}

/**
 * Emails announcements. A channel with workers of its own, so that one to everybody holds up no link. A delivery says who and what;
 * the address and the text are read when it is sent.
 */
@DeliveryChannel({ name: 'announcement', maxAge: '3d' })
export class AnnouncementChannel extends EmailChannel<AnnouncementPayload, AnnouncementRecipient> {
  constructor(
    sender: EmailSender,
    private readonly dataSource: DataSource,
    private readonly tokens: LinkTokens,
    private readonly pages: PublicPages,
  ) {
    super(sender);
  }

  deliveries(event: DeliveryEvent): Drafts<AnnouncementPayload, AnnouncementRecipient> {
    return isAnnouncementSent(event) ? draftsFrom(fanOutSql, [event.payload!.announcementId]) : [];
  }

  async message({
    payload,
    recipient,
  }: Delivery<AnnouncementPayload, AnnouncementRecipient>): Promise<Email | Outcome> {
    const { accountId } = recipient!;
    const [row] = await this.dataSource.query<[Row]>(messageSql, [payload.announcementId, accountId]);
    if (!row.recipient) return skipped('not_a_recipient');
    if (!row.essential && !row.wanted) return skipped('opted_out');
    if (row.email === null) return skipped('no_address');
    const { handle, subject, text } = row;
    const content = { handle, subject, text, inbox: this.pages.inbox() };
    const to = emailAddress(row.email);
    if (row.essential) return email(announcement, to, content);
    const token = this.tokens.speaking('unsubscribe', accountId);
    const oneClick = this.pages.oneClick(token);
    return email(
      announcement,
      to,
      { ...content, unsubscribe: this.pages.unsubscribe(token) },
      oneClick === undefined ? {} : { unsubscribe: oneClick },
    );
  }
}
