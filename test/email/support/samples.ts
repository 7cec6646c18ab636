import { emailAddress, email, type Email, type EmailKind } from 'nest-deliveries/email';
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
];
