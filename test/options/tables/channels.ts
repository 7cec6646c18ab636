import type { DiscoveryService } from '@nestjs/core';
import {
  ChannelDefinitionError,
  DeliveriesOptionsError,
  DeliveryChannel,
  succeeded,
  type DeliveryChannelOptions,
} from 'nest-deliveries';
import { ChannelRegistry } from '../../../libs/deliveries/src/channel/channel-registry';
import { channelSettingNames } from '../../../libs/deliveries/src/channel-settings';
import { moduleNameToken } from '../../../libs/deliveries/src/module-name';
import { resolveOptions } from '../../../libs/deliveries/src/resolved-options';
import type { OptionRow, OptionTable } from '../option-table';

/** Finds one channel of these options, as Nest would give it. */
function discover(options: object, deployed: object = {}): void {
  class Letters {
    deliveries = (): [] => [];
    send = () => Promise.resolve(succeeded());
  }
  DeliveryChannel(options as DeliveryChannelOptions)(Letters);
  const provider = { metatype: Letters, token: Letters, instance: new Letters() };
  const providers = [
    { token: moduleNameToken, instance: undefined },
    { ...provider, isTransient: false, isDependencyTreeStatic: () => true },
  ];
  const discovery = { getProviders: () => providers } as unknown as DiscoveryService;
  new ChannelRegistry(discovery, resolveOptions(deployed)).discover();
}

const settings: Record<(typeof channelSettingNames)[number], OptionRow> = {
  maxAge: {
    takes: [1, '3650d'],
    refuses: [
      [0, 'from 1 ms'],
      ['3651d', 'to 315360000000 ms'],
    ],
  },
  workers: { takes: [0, 100], refuses: [[101, 'from 0 to 100']] },
  concurrency: {
    takes: [1, 10_000],
    refuses: [
      [0, 'from 1 to 10000'],
      [10_001, 'from 1 to 10000'],
    ],
  },
  sendTimeout: {
    takes: [1, '55s'],
    refuses: [
      [0, 'from 1 ms'],
      ['25h', 'to 86400000 ms'],
    ],
  },
  lease: {
    takes: ['15s', '1d'],
    refuses: [
      [0, 'from 1 ms'],
      ['25h', 'to 86400000 ms'],
    ],
  },
  maxAttempts: {
    takes: [1, 1_000_000],
    refuses: [
      [0, 'from 1 to 1000000'],
      [1_000_001, 'from 1 to 1000000'],
    ],
  },
  retry: { takes: [{ first: '1s' }], sense: ['an empty object'] },
  retention: { takes: ['manual', { failed: 'manual' }], sense: ['an empty object'] },
  revivesCancelled: { takes: [false], sense: ['true', 'false'] },
  lane: {
    takes: [{ share: 1 }],
    sense: ['an empty object'],
    refuses: [
      [{ share: 0 }, 'lane.share must be a number above 0 and at most 1; got 0'],
      [{ share: 1.1 }, 'got 1.1'],
      [{ share: NaN }, 'got NaN'],
      [{ share: '0.5' }, 'got "0.5"'],
      [{ shares: 1 }, 'nearest is "share"'],
    ],
  },
};

const contradictions = [
  [{ sendTimeout: '56s' }, 'lease must be at least sendTimeout and 5 seconds (61000 ms)'],
  [{ sendTimeout: '10s', lease: '14999ms' }, 'lease must be at least sendTimeout and 5 seconds (15000 ms)'],
  [{ retry: { first: '2h', max: '1h' } }, 'retry.first must be at most retry.max (3600000 ms)'],
] as const;

export const channelTables: OptionTable[] = [
  {
    of: '@DeliveryChannel',
    names: ['name', 'module', ...channelSettingNames],
    errors: [ChannelDefinitionError, DeliveriesOptionsError],
    enough: { name: 'letter', maxAge: '1d' },
    start: (options) => discover(options),
    rows: {
      ...settings,
      maxAge: { ...settings.maxAge, required: true },
      name: {
        takes: ['letter', 'a.b:c_d-e', 'constructor', 'a'.repeat(160)],
        required: true,
        refuses: [
          ['a'.repeat(161), '1 to 160'],
          ['a b', '1 to 160'],
        ],
      },
      module: { takes: [undefined], refuses: [['billing', 'named "billing", and there is none']] },
    },
    contradictions,
  },
  {
    of: 'DeliveriesModule: channels',
    names: channelSettingNames,
    errors: [DeliveriesOptionsError],
    enough: {},
    start: (options) => discover({ name: 'letter', maxAge: '1d' }, { channels: { letter: options } }),
    rows: settings,
    contradictions,
  },
];
