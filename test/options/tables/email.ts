import {
  EmailModule,
  EmailOptionsError,
  emailKind,
  emailOptionDefaults,
  field,
  type EmailOptions,
} from 'nest-deliveries/email';
import { rootCertificates } from 'node:tls';
import { resolveEmailOptions } from '../../../libs/email/src/email.options';
import type { OptionTable } from '../option-table';

const from = { name: 'Example', address: 'hello@example.com' };
const receipt = emailKind('receipt', { total: field.text });

export const emailTables: OptionTable[] = [
  {
    of: 'EmailModule',
    names: Object.keys(emailOptionDefaults),
    errors: [EmailOptionsError],
    enough: { from, kinds: [] },
    start: (options) => {
      EmailModule.forRoot(options as EmailOptions);
      resolveEmailOptions(options as EmailOptions);
    },
    rows: {
      url: {
        // An empty variable of the environment is one that is not set.
        takes: ['', 'smtp://localhost:2525', 'smtps://user:password@relay.example'],
        sense: ['no text'],
        secret: true,
        refuses: [
          ['https://relay.example', 'must begin with smtp://'],
          ['smtp://relay.example/?a=b', 'nothing after the port'],
          ['smtp://user@relay.example', 'both a user and a password'],
        ],
      },
      from: { takes: [from], required: true, refuses: [[{ ...from, replyTo: 'a@b.example' }, '"replyTo"']] },
      kinds: {
        takes: [[receipt]],
        required: true,
        sense: ['an empty list'],
        refuses: [
          [[receipt, receipt], 'has "receipt" twice'],
          [[{ name: 'receipt' }], 'must hold message kinds only'],
        ],
      },
      deliveries: { takes: ['billing'], sense: ['some text'] },
      templates: { takes: ['templates'], sense: ['some text'] },
      channels: {
        takes: [['email', 'announcement']],
        refuses: [
          [[''], 'at least one'],
          ['email', "['email']"],
        ],
      },
      requireTls: { takes: [true], sense: ['true', 'false'] },
      ca: { takes: [rootCertificates[0]], secret: true, refuses: [['-----BEGIN CERTIFICATE-----', 'in PEM']] },
      connections: {
        takes: [1, 1_000],
        refuses: [
          [0, 'from 1 to 1000; got 0'],
          [1_001, 'from 1 to 1000'],
        ],
      },
      timeout: {
        takes: [100, '10m'],
        refuses: [
          [99, 'from 100 ms'],
          ['11m', 'to 600000 ms'],
        ],
      },
      probeInterval: {
        takes: [100, '1h'],
        refuses: [
          [99, 'from 100 ms'],
          ['61m', 'to 3600000 ms'],
        ],
      },
    },
    contradictions: [[{ url: 'smtp://relay.example', requireTls: false }, 'off for a relay on loopback only']],
  },
  {
    of: 'EmailModule: from',
    names: ['name', 'address'],
    errors: [EmailOptionsError],
    enough: from,
    start: (options) => resolveEmailOptions({ from: options, kinds: [] } as unknown as EmailOptions),
    rows: {
      name: { takes: ['Ada & Co.'], required: true, sense: ['some text'], refuses: [['a\nb', 'one line of text']] },
      address: { takes: ['ada@example.com'], required: true, refuses: [['ada@a.example,b@c.example', 'address']] },
    },
  },
];
