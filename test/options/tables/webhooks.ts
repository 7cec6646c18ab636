import { InvalidOptionsError } from 'nest-deliveries/outbound-http';
import {
  StandardPublicKey,
  StandardSecret,
  WebhookConfig,
  WebhookConfigurationError,
  WebhookDestination,
  WebhookInputError,
  WebhooksModule,
  webhooksOptionDefaults,
  WebhookVerifier,
  type WebhookConfigOptions,
  type WebhookVerifierOptions,
} from 'nest-deliveries/webhooks';
import { webhookHttpOptionNames } from '../../../libs/webhooks/src/outbox/webhook-outboxes';
import { newKeyring, newSigningKey } from '../../webhooks/support/webhooks-app';
import { namesOf, readOptionsOf, type OptionRow, type OptionTable } from '../option-table';
import { requestContradictions, requestRows } from './outbound-http';

const keyring = newKeyring();
const signingKey = newSigningKey();
const secret = new StandardSecret(`whsec_${Buffer.alloc(24, 7).toString('base64')}`);
const publicKey = new StandardPublicKey(`whpk_${Buffer.alloc(32, 7).toString('base64')}`);
const destination = WebhookDestination.approvedHttps('https://receiver.example/events');
const config = new WebhookConfig({ namespace: 'shop', destination, quota: 9 });

const start = (options: object): void => readOptionsOf(WebhooksModule.forRoot(options));

const options: OptionTable = {
  of: 'WebhooksModule',
  names: Object.keys(webhooksOptionDefaults),
  errors: [WebhookConfigurationError],
  enough: { keyring },
  start,
  rows: {
    deliveries: { takes: ['billing'], sense: ['some text'] },
    keyring: { takes: [keyring], secret: true },
    outboxes: {
      takes: [[{ config, signingKey }]],
      sense: ['an empty list'],
      secret: true,
      refuses: [
        [[{ config: {}, signingKey }], 'config must be a WebhookConfig'],
        [[{ config, signingKey: 'text' }], 'signingKey must be a WebhookSigningKey'],
        [[{ config, signingKey, worker: 1 }], 'nearest is "workers"'],
      ],
    },
    endpoints: {
      takes: [{ messages: () => [] }],
      sense: ['an empty object'],
      refuses: [[{ messages: 5 }, 'messages']],
    },
    receive: {
      takes: [{ partner: { rullst: [signingKey] } }],
      sense: ['an empty object'],
      secret: true,
      refuses: [[{ partner: null }, 'partner must have a value']],
    },
    http: { takes: [{ deny: [] }], sense: ['an empty object'], refuses: [[{ timeout: '1s' }, 'no option "timeout"']] },
  },
  contradictions: [[{ keyring: undefined, outboxes: [{ config, signingKey }] }, 'there is no keyring']],
};

const configRows = {
  namespace: {
    takes: ['shop', 'a'.repeat(128)],
    required: true,
    refuses: [
      ['a b', 'must be 1 to 128'],
      ['', '1 to 128'],
    ],
  },
  destination: { takes: [destination], required: true, secret: true },
  quota: {
    takes: [1, 99_999],
    required: true,
    refuses: [
      [0, 'from 1 to 99999; got 0'],
      [100_000, 'from 1 to 99999'],
    ],
  },
  window: {
    takes: ['1m', '7d'],
    refuses: [
      [59_999, "from '1m' to '7d'; got 59999"],
      ['8d', 'got "8d"'],
    ],
  },
  schemes: {
    takes: [['rullst-v1']],
    refuses: [
      [['v1'], 'each once'],
      [['rullst-v1', 'rullst-v1'], 'each once'],
    ],
  },
  standardKeys: {
    takes: [[]],
    sense: ['an empty list'],
    secret: true,
    refuses: [
      [[publicKey], 'must be a list of keys that sign'],
      [[signingKey], 'must be a list of keys that sign'],
    ],
  },
} as const satisfies Record<keyof WebhookConfigOptions, OptionRow>;

const verifierRows = {
  rullst: {
    takes: [[newSigningKey('key-2')]],
    sense: ['an empty list'],
    refuses: [[[signingKey, signingKey], 'the same id']],
    secret: true,
  },
  standard: { takes: [[secret, publicKey]], sense: ['an empty list'], secret: true },
  tolerance: {
    takes: [1, 300],
    refuses: [
      [0, '1 to 300 whole seconds; got 0'],
      [301, '1 to 300'],
      ['5m', '1 to 300'],
    ],
  },
  limit: { takes: [1, 1_000_000], sense: ['a huge number'], refuses: [[0, 'above 0; got 0']] },
} as const satisfies Record<keyof WebhookVerifierOptions, OptionRow>;

export const webhooksTables: OptionTable[] = [
  options,
  {
    of: 'WebhooksModule: http',
    names: webhookHttpOptionNames,
    errors: [WebhookConfigurationError, InvalidOptionsError],
    enough: {},
    start: (http) => start({ http }),
    rows: requestRows,
    contradictions: requestContradictions,
  },
  {
    of: 'WebhookConfig',
    names: namesOf(configRows),
    errors: [WebhookConfigurationError, WebhookInputError],
    enough: { namespace: 'shop', destination, quota: 9 },
    start: (given) => new WebhookConfig(given as WebhookConfigOptions),
    rows: configRows,
    contradictions: [
      [{ schemes: ['standard'] }, 'the scheme standard and standardKeys must come together'],
      [{ standardKeys: [secret] }, 'the scheme standard and standardKeys must come together'],
    ],
  },
  {
    of: 'WebhooksModule: receive',
    names: namesOf(verifierRows),
    errors: [WebhookConfigurationError],
    enough: { rullst: [signingKey], standard: [secret] },
    start: (given) => new WebhookVerifier('partner', given),
    rows: verifierRows,
    contradictions: [[{ rullst: [], standard: [] }, 'there must be at least one key']],
  },
];
