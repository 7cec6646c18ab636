import {
  DeliveryChannel,
  failed,
  skipped,
  type Delivery,
  type DeliveryDraft,
  type DeliveryEvent,
  type Outcome,
} from 'nest-deliveries';
import { email, EmailChannel, emailAddress, emailChannel, EmailSender, type Email } from 'nest-deliveries/email';
import { DataSource, type EntityManager } from 'typeorm';
import { isAddressAdded } from '../addresses/address-events';
import { LinkTokens, type Purpose } from '../links/link-tokens';
import { PublicPages } from '../links/public-pages';
import { addresseesOf, wordsOf, type Notification, type VerifiedAddress } from '../notifications/notification';
import { notificationsOf } from '../notifications/notifier';
import { isRecoveryStarted } from '../recovery/recovery-events';
import { noticesSql, recoverySql, verificationSql } from './account-email.sql';
import { notification as notificationKind, recoveryLink, verificationLink } from './message-kinds';

/**
 * What is stored of a message.
 *
 * Links store ids alone: address and token are read and derived when they are sent, and a link that is of no use any more is not sent.
 * A notification is copied with its address, so that nobody can keep it from arriving by removing the address.
 */
type AccountMessage =
  | { readonly is: 'verification_link'; readonly addressId: string }
  | { readonly is: 'recovery_link'; readonly recoveryId: string; readonly addressId: string }
  | {
      readonly is: 'notification';
      readonly to: string;
      readonly handle: string;
      readonly notification: Notification & { readonly id: string };
    };

interface AccountRecipient {
  readonly accountId: string;
}

type Draft = DeliveryDraft<AccountMessage, AccountRecipient>;

/** Emails to account holders: links, and what their inbox says. */
@DeliveryChannel(emailChannel)
export class AccountEmailChannel extends EmailChannel<AccountMessage, AccountRecipient> {
  constructor(
    sender: EmailSender,
    private readonly dataSource: DataSource,
    private readonly tokens: LinkTokens,
    private readonly pages: PublicPages,
  ) {
    super(sender);
  }

  async deliveries(event: DeliveryEvent, tx: EntityManager): Promise<Draft[]> {
    const notices = await this.notices(event, tx);
    if (isAddressAdded(event)) {
      const { accountId, addressId } = event.payload!;
      return [draft(accountId, addressId, { is: 'verification_link', addressId }), ...notices];
    }
    if (isRecoveryStarted(event)) {
      const { accountId, addressId, recoveryId } = event.payload!;
      return [draft(accountId, addressId, { is: 'recovery_link', recoveryId, addressId }), ...notices];
    }
    return notices;
  }

  message({ payload }: Delivery<AccountMessage, AccountRecipient>): Promise<Email | Outcome> | Email {
    switch (payload.is) {
      case 'verification_link':
        return this.verification(payload.addressId);
      case 'recovery_link':
        return this.recovery(payload.recoveryId, payload.addressId);
      case 'notification':
        return this.notification(payload);
    }
  }

  private async verification(addressId: string): Promise<Email | Outcome> {
    const [row] = await this.dataSource.query<VerificationRow[]>(verificationSql, [addressId]);
    if (!row) return skipped('address_removed');
    if (row.verified) return skipped('address_verified');
    if (!row.active) return skipped('account_not_active');
    if (row.expired) return skipped('link_expired');
    const token = this.tokens.rebuild('verification', addressId, row.digest);
    if (token === undefined) return keyIsGone('verification');
    return email(verificationLink, emailAddress(row.email), {
      handle: row.handle,
      link: this.pages.verification(token),
    });
  }

  private async recovery(recoveryId: string, addressId: string): Promise<Email | Outcome> {
    const [row] = await this.dataSource.query<RecoveryRow[]>(recoverySql, [recoveryId, addressId]);
    if (!row?.active) return skipped('account_not_active');
    if (row.used) return skipped('recovery_used');
    if (row.cancelled) return skipped('recovery_cancelled');
    if (row.expired) return skipped('link_expired');
    if (row.email === null) return skipped('address_removed');
    const token = this.tokens.rebuild('recovery', recoveryId, row.digest);
    if (token === undefined) return keyIsGone('recovery');
    return email(recoveryLink, emailAddress(row.email), { handle: row.handle, link: this.pages.recovery(token) });
  }

  private notification({ to, handle, notification }: Extract<AccountMessage, { is: 'notification' }>): Email {
    const content = { handle, ...wordsOf(notification), link: this.pages.notification(notification.id) };
    return email(notificationKind, emailAddress(to), { ...content, ...this.furtherLinks(notification) });
  }

  private furtherLinks(notification: Notification): { undo?: string; alerts?: string | undefined } {
    switch (notification.kind) {
      case 'recovered':
        return notification.data.undoable ? { undo: this.pages.undo(notification.data.recoveryId) } : {};
      case 'alert':
        return { alerts: this.pages.alerts() };
      default:
        return {};
    }
  }

  /** One for each address that a notification names. */
  private async notices(event: DeliveryEvent, tx: EntityManager): Promise<Draft[]> {
    const written = notificationsOf(event);
    if (written.length === 0) return [];
    const rows = await tx.query<NoticeRow[]>(noticesSql, [written.map(({ id }) => id)]);
    return rows.flatMap(({ id, accountId, handle, kind, data, verified }) => {
      const notification = { id, kind, data } as Notification & { id: string };
      return addresseesOf(notification, verified).map((address) =>
        draft(accountId, address.id, {
          is: 'notification',
          to: emailAddress(address.email),
          handle,
          notification,
        }),
      );
    });
  }
}

interface VerificationRow {
  readonly email: string;
  readonly handle: string;
  readonly digest: Buffer;
  readonly verified: boolean;
  readonly expired: boolean;
  readonly active: boolean;
}

interface RecoveryRow {
  /** Null when the address was removed. */
  readonly email: string | null;
  readonly handle: string;
  readonly digest: Buffer;
  readonly active: boolean;
  readonly used: boolean;
  readonly cancelled: boolean;
  readonly expired: boolean;
}

interface NoticeRow {
  readonly id: string;
  readonly accountId: string;
  readonly handle: string;
  readonly kind: string;
  readonly data: object;
  readonly verified: readonly VerifiedAddress[];
}

/** Operators see whose message it is and which of their addresses, and never the address itself. */
const draft = (accountId: string, addressId: string, payload: AccountMessage): Draft => ({
  destination: `account ${accountId}, address ${addressId}`,
  recipient: { accountId },
  payload,
});

/** Its token was made with a key that this process does not have any more, and nothing will make it again. */
const keyIsGone = (purpose: Purpose): Outcome => failed(`${purpose}_key_gone`);
