import { DeliveriesModule, DeliveriesOptionsError, optionDefaults } from 'nest-deliveries';
import { DeliveriesCommandModule } from 'nest-deliveries/commands';
import { Registry } from 'prom-client';
import { DataSource } from 'typeorm';
import { adminOptionDefaults } from '../../../libs/deliveries/src/operate/admin/admin-options';
import { HeadersGuard } from '../../../libs/deliveries/src/operate/dashboard/headers.guard';
import { resolveOptions } from '../../../libs/deliveries/src/resolved-options';
import { namesOf, type OptionRow, type OptionTable } from '../option-table';

/** As a start reads them. */
export function startDeliveries(options: object): void {
  DeliveriesModule.forRoot(options);
  resolveOptions(options);
}

/** The options of one option. */
function within<Name extends string>(option: string, rows: Record<Name, OptionRow>): OptionTable {
  return {
    of: `DeliveriesModule: ${option}`,
    names: namesOf(rows),
    errors: [DeliveriesOptionsError],
    enough: {},
    rows,
    start: (options) => startDeliveries({ [option]: options }),
  };
}

const guards = [{ canActivate: () => true }];

const options: OptionTable = {
  of: 'DeliveriesModule',
  names: Object.keys(optionDefaults),
  errors: [DeliveriesOptionsError],
  enough: {},
  start: startDeliveries,
  rows: {
    schema: {
      takes: ['deliveries', '_a1', 'a'.repeat(63)],
      refuses: [
        ['a'.repeat(64), '1 to 63'],
        ['1a', 'digit'],
      ],
    },
    migrate: { takes: [true], sense: ['true', 'false'] },
    dataSource: {
      takes: ['billingDataSource', DataSource, Symbol('billing')],
      sense: ['some text', 'a function', 'a symbol'],
      refuses: [[new DataSource({ type: 'postgres' }), 'must be an injection token']],
    },
    name: {
      takes: ['billing', 'a'.repeat(40)],
      refuses: [
        ['of/us', 'must be a letter'],
        ['a'.repeat(41), 'up to 39'],
      ],
    },
    run: { takes: [['email'], []], sense: ['an empty list'], refuses: [['email', "Write run: ['email']"]] },
    workers: {
      takes: [0, 100],
      refuses: [
        [101, 'from 0 to 100'],
        ['2', 'got "2"'],
      ],
    },
    concurrency: {
      takes: [1, 10_000],
      refuses: [
        [0, 'from 1 to 10000'],
        [10_001, 'from 1 to 10000'],
      ],
    },
    pollInterval: {
      takes: [10, '1h'],
      refuses: [
        [9, 'from 10 ms'],
        ['61m', 'to 3600000 ms'],
        ['1 s', 'got "1 s"'],
      ],
    },
    sendTimeout: {
      takes: [1, '1d'],
      refuses: [
        [0, 'from 1 ms'],
        ['25h', 'to 86400000 ms'],
      ],
    },
    lease: {
      takes: [1, '1d'],
      refuses: [
        [0, 'from 1 ms'],
        ['25h', 'to 86400000 ms'],
      ],
    },
    retry: { takes: [{ first: '1s', max: '1s' }], sense: ['an empty object'] },
    retention: { takes: ['manual', { failed: '90d' }], sense: ['an empty object'] },
    cleanUpInterval: { takes: [false, '1s', '1d'], sense: ['false'], refuses: [[999, 'from 1000 ms']] },
    shutdownGrace: { takes: [0, '1h'], sense: ['a fraction'], refuses: [['61m', 'to 3600000 ms']] },
    metrics: { takes: [false, { prefix: 'shop_' }], sense: ['false', 'an empty object'] },
    health: { takes: [{ timeout: '1s' }], sense: ['an empty object'] },
    logAttempts: { takes: ['all', 'unsuccessful', 'none'], refuses: [['some', 'must be one of "all"']] },
    poolSize: {
      takes: [1, 100],
      refuses: [
        [0, 'from 1 to 100'],
        [101, 'from 1 to 100'],
      ],
    },
    connection: { takes: [{ port: 6432 }], sense: ['an object', 'an empty object'], secret: true },
    listen: { takes: [true, false, { connection: {} }], sense: ['true', 'false'], secret: true },
    admin: { takes: [{ guards }] },
    // Whether there are such channels is seen when the channels have been found.
    channels: { takes: [{ email: {} }], sense: ['an object', 'an empty object'] },
  },
};

const admin: OptionTable = {
  of: 'DeliveriesModule: admin',
  names: Object.keys(adminOptionDefaults),
  errors: [DeliveriesOptionsError],
  enough: { guards },
  start: (given) => startDeliveries({ admin: given }),
  rows: {
    guards: {
      takes: [guards, [HeadersGuard]],
      required: true,
      refuses: [
        [[], 'Without one, everybody'],
        [[5], 'list'],
      ],
    },
    imports: { takes: [[DeliveriesCommandModule]], sense: ['a list', 'an empty list'] },
    path: {
      takes: ['ops', '/ops/queue/'],
      refuses: [
        ['a b', 'plain segments'],
        ['a//b', 'plain segments'],
      ],
    },
    actor: { takes: [() => 'ada'], sense: ['a function'] },
    canSeePayload: { takes: [() => true], sense: ['a function'] },
    api: { takes: [false], sense: ['true', 'false'] },
    dashboard: { takes: [false], sense: ['true', 'false'] },
  },
};

const retention = {
  takes: [0, '3650d', 'manual'],
  sense: ['a fraction'],
  refuses: [['3651d', 'to 315360000000 ms']],
} as const satisfies OptionRow;

export const deliveriesTables: OptionTable[] = [
  options,
  admin,
  {
    ...within('retry', {
      first: {
        takes: [1, '1h'],
        refuses: [
          [0, 'from 1 ms'],
          ['25h', 'to 86400000 ms'],
        ],
      },
      max: { takes: [1, '30d'], refuses: [['31d', 'to 2592000000 ms']] },
    }),
    contradictions: [[{ first: '2h', max: '1h' }, 'retry.first must be at most retry.max (3600000 ms)']],
  },
  within('retention', { succeeded: retention, failed: retention, cancelled: retention }),
  within('health', {
    maxPendingAge: { takes: ['1s', '3650d'], refuses: [[999, 'from 1000 ms']] },
    timeout: {
      takes: [100, '1m'],
      refuses: [
        [99, 'from 100 ms'],
        ['61s', 'to 60000 ms'],
      ],
    },
  }),
  within('metrics', {
    prefix: {
      takes: ['shop_', ''],
      sense: ['no text'],
      refuses: [
        ['1a', 'letters, digits'],
        ['a-b', 'letters, digits'],
      ],
    },
    registry: { takes: [new Registry()], refuses: [['default', 'must be a prom-client Registry']] },
  }),
  {
    ...within('listen', {
      connection: { takes: [{ port: 5432 }], required: true, sense: ['an object', 'an empty object'], secret: true },
    }),
    enough: { connection: {} },
  },
  {
    of: 'DeliveriesCommandModule',
    names: ['name', 'schema', 'dataSource'],
    errors: [DeliveriesOptionsError],
    enough: {},
    start: (given) => DeliveriesCommandModule.forRoot(given),
    rows: { name: options.rows.name!, schema: options.rows.schema!, dataSource: options.rows.dataSource! },
  },
];
