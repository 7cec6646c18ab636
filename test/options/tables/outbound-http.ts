import { InvalidOptionsError, OutboundHttpModule } from 'nest-deliveries/outbound-http';
import { rootCertificates } from 'node:tls';
import { optionNames } from '../../../libs/outbound-http/src/options/read-options';
import { namesOf, readOptionsOf, type OptionRow, type OptionTable } from '../option-table';

const duration: OptionRow = {
  takes: [1, '1h'],
  refuses: [
    [0, 'must be 1 ms to 1 h'],
    ['61m', 'must be 1 ms to 1 h'],
  ],
};
const flag: OptionRow = { takes: [false], sense: ['true', 'false'], refuses: [['yes', 'must be true or false']] };
const ca = rootCertificates[0];

/** What it has in common with the requests of webhooks. */
export const requestRows = {
  deny: { takes: [['10.0.0.0/8']], sense: ['an empty list'], refuses: [[['10.1.2.3/8'], 'host bits are zero']] },
  allow: { takes: [['10.1.2.3/32']], sense: ['an empty list'], refuses: [[['0.0.0.0/0'], 'must not touch']] },
  testMode: {
    takes: [true, { ca }],
    sense: ['true', 'false', 'an empty object'],
    refuses: [[{ ca: 'x' }, 'must be a certificate in PEM']],
  },
  production: flag,
  requireProduction: flag,
  resolver: { takes: [() => []], sense: ['a function'] },
  keepAlive: { takes: [{ maxIdle: 0 }], sense: ['an empty object'] },
} as const satisfies Record<string, OptionRow>;

/** Contradictions of these. */
export const requestContradictions = [
  [{ testMode: true, production: true }, 'testMode must be off in production'],
  [{ testMode: true, requireProduction: true }, 'testMode must be off in production'],
  [{ allow: ['10.1.2.3/32'], requireProduction: true }, 'allow must be empty under requireProduction'],
  [{ production: false, requireProduction: true }, 'production must not be off under requireProduction'],
] as const;

const keepAlive = {
  maxIdle: { takes: [0, 10_000], refuses: [[10_001, 'from 0 to 10,000']] },
  idleTimeout: duration,
  maxAge: duration,
} as const satisfies Record<string, OptionRow>;

const start = (options: object): void => readOptionsOf(OutboundHttpModule.forRoot(options));

export const outboundHttpTables: OptionTable[] = [
  {
    of: 'OutboundHttpModule',
    names: [...optionNames, 'isGlobal'],
    errors: [InvalidOptionsError],
    enough: {},
    start,
    rows: {
      ...requestRows,
      profile: { takes: ['registry', 'strict'], refuses: [['lax', "must be 'registry' or 'strict'"]] },
      timeout: duration,
      connectTimeout: { ...duration, takes: [1, '10s'] },
      isGlobal: flag,
    },
    contradictions: [
      ...requestContradictions,
      [{ timeout: '2s', connectTimeout: '3s' }, 'connectTimeout must be at most timeout (2000 ms)'],
    ],
  },
  {
    of: 'OutboundHttpModule: keepAlive',
    names: namesOf(keepAlive),
    errors: [InvalidOptionsError],
    enough: {},
    start: (options) => start({ keepAlive: options }),
    rows: keepAlive,
  },
];
