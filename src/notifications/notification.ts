/** What a notification is about. Stored as it is: it names addresses where its reader has to know which. */
export interface NotificationData {
  readonly address_added: { readonly address: NamedAddress };
  readonly address_replaced: { readonly address: NamedAddress };
  readonly address_removed: { readonly address: NamedAddress };
  readonly primary_changed: { readonly address: NamedAddress };
  /** A recovery took every passkey away. */
  readonly account_secured: { readonly recoveryId: string };
  /** A recovery added a passkey. @property undoable another passkey can take it back */
  readonly recovered: { readonly recoveryId: string; readonly passkey: string; readonly undoable: boolean };
  readonly recovery_undone: { readonly recoveryId: string };
  readonly alert: { readonly subject: string; readonly text: string };
}

export interface NamedAddress {
  readonly id: string;
  readonly email: string;
}

/** Every kind but `announcement`, whose text is the announcement's. */
export type NotificationKind = keyof NotificationData;

/** A notification of some kind, with what belongs to that kind. */
export type Notification = {
  [Kind in NotificationKind]: { readonly kind: Kind; readonly data: NotificationData[Kind] };
}[NotificationKind];

/** What it says, in the inbox and in the email alike. */
export interface Words {
  readonly subject: string;
  readonly text: string;
}

const notYou = 'If that was not you, sign in and look at your account.';

/** Pure. */
export function wordsOf(notification: Notification): Words {
  switch (notification.kind) {
    case 'address_added':
      return {
        subject: 'An address was added to your account',
        text: `${notification.data.address.email} was added. It counts once the link that was sent to it is followed.\n\n${notYou}`,
      };
    case 'address_replaced':
      return {
        subject: 'Your address was replaced',
        text: `${notification.data.address.email} no longer belongs to your account: another address took its place.\n\n${notYou}`,
      };
    case 'address_removed':
      return {
        subject: 'Your address was removed',
        text: `${notification.data.address.email} no longer belongs to your account.\n\n${notYou}`,
      };
    case 'primary_changed':
      return {
        subject: 'Your primary address changed',
        text: `Messages now go to ${notification.data.address.email}.\n\n${notYou}`,
      };
    case 'account_secured':
      return {
        subject: 'Your account was secured',
        text: 'Somebody with a recovery link removed every passkey and ended every session.\n\nIf that was not you, start a recovery yourself.',
      };
    case 'recovered':
      return {
        subject: 'Your account was recovered',
        text: `Somebody with a recovery link added the passkey “${notification.data.passkey}” and ended every session.\n\n${notYou}`,
      };
    case 'recovery_undone':
      return {
        subject: 'A recovery was undone',
        text: 'The passkey that it had added is gone, and so are the other sessions.',
      };
    case 'alert':
      return notification.data;
  }
}

/** A verified address of an account. */
export interface VerifiedAddress extends NamedAddress {
  readonly primary: boolean;
}

/**
 * The addresses that a notification is emailed to, each once. Pure.
 *
 * - what a recovery did: every verified address, so that whoever holds one of them cannot hide it
 * - an address that was replaced or removed: that address, so that whoever reads it hears of it
 * - anything else: the primary address, or none
 */
export function addresseesOf(notification: Notification, verified: readonly VerifiedAddress[]): NamedAddress[] {
  switch (notification.kind) {
    case 'account_secured':
    case 'recovered':
      return verified.map(({ id, email }) => ({ id, email }));
    case 'address_replaced':
    case 'address_removed':
      return [notification.data.address];
    default:
      return verified.filter(({ primary }) => primary).map(({ id, email }) => ({ id, email }));
  }
}
