import { DataSource } from 'typeorm';
import { milliseconds } from './delivery/duration';
import { optionDefaults, type DeliveriesOptions } from './deliveries.options';
import { DeliveriesOptionsError } from './errors';
import { resolveOptions } from './resolved-options';

function refusal(options: unknown): string {
  try {
    resolveOptions(options as DeliveriesOptions);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof DeliveriesOptionsError)) throw error;
    return error.message;
  }
}

const production = (env: string | undefined): boolean => {
  const before = process.env.NODE_ENV;
  try {
    if (env === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = env;
    return resolveOptions().migrate;
  } finally {
    process.env.NODE_ENV = before;
  }
};

it('has the defaults that the options table promises', () => {
  expect(resolveOptions()).toEqual({
    name: undefined,
    timers: 'deliveries:deliveries',
    schema: 'deliveries',
    migrate: true,
    dataSource: DataSource,
    run: undefined,
    pollInterval: 1_000,
    cleanUpInterval: 600_000,
    shutdownGrace: 10_000,
    metrics: undefined,
    health: { maxPendingAge: 900_000, timeout: 2_000 },
    logAttempts: 'all',
    poolSize: 3,
    connection: undefined,
    listen: true,
    passive: false,
    channels: {},
    channelDefaults: {
      workers: 2,
      concurrency: 10,
      sendTimeout: 10_000,
      lease: 60_000,
      maxAttempts: undefined,
      retry: { first: 10_000, max: 3_600_000 },
      retention: { succeeded: 7 * 86_400_000, failed: 30 * 86_400_000, cancelled: 30 * 86_400_000 },
      revivesCancelled: true,
      lane: { share: 0.5 },
    },
  });
  // The same, read from the words of the table.
  const told = Object.entries(optionDefaults).flatMap(([name, words]) => {
    const ms = milliseconds(words.replaceAll("'", ''));
    return ms === undefined && !/^\d+$/.test(words) ? [] : [[name, ms ?? Number(words)]];
  });
  const { channelDefaults, ...own } = resolveOptions();
  expect({ ...own, ...channelDefaults }).toMatchObject(Object.fromEntries(told) as object);
  expect(told).toHaveLength(8);
});

it('migrates at start, but not in production', () => {
  expect([undefined, 'test', 'development', 'production'].map(production)).toEqual([true, true, true, false]);
  expect(resolveOptions({ migrate: false }).migrate).toBe(false);
});

it('takes durations as milliseconds or in words', () => {
  expect(
    resolveOptions({ pollInterval: '250ms', shutdownGrace: 0, retry: { first: '1.5s', max: '1d' } }),
  ).toMatchObject({
    pollInterval: 250,
    shutdownGrace: 0,
    channelDefaults: { retry: { first: 1_500, max: 86_400_000 } },
  });
});

const words = "Write milliseconds or a string such as '10s', '5m', '1h' or '7d'.";
const whole = 'Choose one in that range.';

it.each<[object, string]>([
  [
    { schema: 'My-Schema' },
    'schema must be 1 to 63 lower-case letters, digits and underscores, not starting with a digit; got "My-Schema". Choose such a name.',
  ],
  [
    { schema: '' },
    'schema must be 1 to 63 lower-case letters, digits and underscores, not starting with a digit; got "". Choose such a name.',
  ],
  [
    { schema: 'a"; DROP SCHEMA b' },
    'schema must be 1 to 63 lower-case letters, digits and underscores, not starting with a digit; got "a\\"; DROP SCHEMA b". Choose such a name.',
  ],
  [{ migrate: 'yes' }, 'migrate must be true or false; got "yes". Set it to one of them.'],
  [{ run: 'email' }, `run must be a list of channel names; got "email". Write run: ['email'], or [] for none.`],
  [
    { run: ['email', 5] },
    `run must be a list of channel names; got ["email", 5]. Write run: ['email'], or [] for none.`,
  ],
  [{ workers: -1 }, `workers must be a whole number from 0 to 100; got -1. ${whole}`],
  [{ workers: '2' }, `workers must be a whole number from 0 to 100; got "2". ${whole}`],
  [{ concurrency: 0 }, `concurrency must be a whole number from 1 to 10000; got 0. ${whole}`],
  [{ concurrency: 1.5 }, `concurrency must be a whole number from 1 to 10000; got 1.5. ${whole}`],
  [{ poolSize: 0 }, `poolSize must be a whole number from 1 to 100; got 0. ${whole}`],
  [{ pollInterval: 9 }, `pollInterval must be a duration from 10 ms to 3600000 ms; got 9. ${words}`],
  [{ pollInterval: 'soon' }, `pollInterval must be a duration from 10 ms to 3600000 ms; got "soon". ${words}`],
  [{ sendTimeout: 0 }, `sendTimeout must be a duration from 1 ms to 86400000 ms; got 0. ${words}`],
  [{ lease: NaN }, `lease must be a duration from 1 ms to 86400000 ms; got NaN. ${words}`],
  [{ lease: { password: 'hunter2' } }, `lease must be a duration from 1 ms to 86400000 ms; got an object. ${words}`],
  [{ shutdownGrace: '2h' }, `shutdownGrace must be a duration from 0 ms to 3600000 ms; got "2h". ${words}`],
  [{ retry: { first: '0s' } }, `retry.first must be a duration from 1 ms to 86400000 ms; got "0s". ${words}`],
  [{ retry: { max: '31d' } }, `retry.max must be a duration from 1 ms to 2592000000 ms; got "31d". ${words}`],
  [{ logAttempts: true }, 'logAttempts must be one of "all", "unsuccessful", "none"; got true. Choose one of them.'],
  [{ channels: ['email'] }, 'channels must be an object; got ["email"]. Write channels: { email: { … } }.'],
  [{ channels: null }, 'channels must have a value; got null. Give it one, or leave it out.'],
  [
    { connection: 'postgres://a:hunter2@b/c' },
    'connection must be an object; got text. Write what pg takes, or leave it out.',
  ],
])('refuses %j', (options, message) => {
  expect(refusal(options)).toBe(`DeliveriesModule: ${message}`);
});

it.each<[object | string | null, RegExp]>([
  [{ shema: 1 }, /there is no option "shema"; the nearest is "schema"\. Known are: schema, migrate, /],
  [{ concurency: 1 }, /there is no option "concurency"; the nearest is "concurrency"\./],
  [{ maxAttempts: 1 }, /there is no option "maxAttempts"/],
  [{ retry: { maximum: 1 } }, /retry: there is no option "maximum"; the nearest is "max"\. Known are: first, max\.$/],
  [{ metrics: { register: 1 } }, /metrics: there is no option "register"; the nearest is "registry"\./],
  [{ metrics: true }, /metrics: options must be an object; got true\./],
  [{ health: { timout: 1 } }, /health: there is no option "timout"; the nearest is "timeout"\./],
  [{ retry: 5 }, /retry: options must be an object; got 5\. Write \{ … \}\.$/],
  [null, /options must be an object; got null\. Write \{ … \}\.$/],
  ['postgres://a:hunter2@b/c', /options must be an object; got text\. Write \{ … \}\.$/],
])('refuses what it does not know: %j', (options, message) => {
  expect(refusal(options)).toMatch(message);
});
