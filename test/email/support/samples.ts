import { emailAddress, email, type Email, type EmailKind } from 'nest-deliveries/email';
import { join } from 'node:path';
import {
  announcement,
  messageKinds,
  notification,
  recoveryLink,
  verificationLink,
} from '../../../src/mail/message-kinds';
import { wordsOf } from '../../../src/notifications/notification';
import { receipt, templates } from './kinds';

/** Emails to look at, with the folder of their templates and all its kinds. */
export interface Samples {
  readonly templates: string;
  readonly kinds: readonly EmailKind[];
  /** By the name of their pictures. */
  readonly emails: Readonly<Record<string, Email>>;
}

const ada = emailAddress('ada@example.com');
const longLink = `https://shop.example/orders/1?token=${'n7Xq-4fTz_'.repeat(8)}`;

export const samples: readonly Samples[] = [
  {
    templates,
    kinds: [receipt],
    emails: {
      receipt: email(receipt, ada, {
        customer: 'Ada Lovelace',
        message:
          'It left our house this morning, and should be with you by Thursday.\n\nThe parcel needs a signature.\nIf nobody is at home, the neighbours get it.',
        link: longLink,
        items: [
          { name: 'Darjeeling, first flush, 250 g', gift: false },
          { name: 'A tin that says nothing but Tea in very large letters', gift: true },
        ],
        coupon: 'SAVE-10',
      }),
      'receipt-short': email(receipt, ada, {
        customer: `someone-${'with-a-very-long-name-'.repeat(4)}`,
        message: 'Thanks.',
        link: 'https://shop.example/',
        items: [],
      }),
    },
  },
  {
    templates: join(__dirname, '../../../templates/email'),
    kinds: messageKinds,
    emails: {
      'verification-link': email(verificationLink, ada, { handle: 'ada', link: longLink }),
      'recovery-link': email(recoveryLink, ada, { handle: 'ada', link: longLink }),
      notification: email(notification, ada, {
        handle: 'ada',
        ...wordsOf({ kind: 'recovered', data: { recoveryId: '1', passkey: 'New phone', undoable: true } }),
        link: 'https://accounts.example/inbox/1',
        undo: 'https://accounts.example/recoveries/1/undo',
      }),
      'notification-alert': email(notification, ada, {
        handle: 'ada',
        ...wordsOf({ kind: 'alert', data: { subject: 'A client cannot be reached', text: 'Shop answers 503.' } }),
        link: 'https://accounts.example/inbox/1',
        alerts: 'https://accounts.example/admin/deliveries',
      }),
      announcement: email(announcement, ada, {
        handle: 'ada',
        subject: 'We are moving',
        text: 'On Sunday we move to another building, with the same doors.\n\nFrom ten to twelve nobody can sign in.\nEverything else goes on.',
        inbox: 'https://accounts.example/inbox',
        unsubscribe: `https://accounts.example/unsubscribe/${'n7Xq-4fTz_'.repeat(8)}`,
      }),
    },
  },
];
