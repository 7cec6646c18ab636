import { InvalidOptionsError } from '../errors';
import type { OutboundHttpOptions } from './outbound-http-options';
import { readOptions } from './read-options';

describe('readOptions', () => {
  it('fills in the defaults', () => {
    expect(readOptions({ production: false })).toMatchObject({
      profile: 'registry',
      timeout: 10_000,
      connectTimeout: 5000,
      deny: [],
      allow: [],
      testMode: false,
      keepAlive: { maxIdle: 256, idleTimeout: 4000, maxAge: 60_000 },
    });
  });

  it('reads durations with and without a unit', () => {
    expect(readOptions({ timeout: '1.5s', connectTimeout: 200 })).toMatchObject({ timeout: 1500, connectTimeout: 200 });
    expect(readOptions({ timeout: '3s' })).toMatchObject({ connectTimeout: 3000 });
  });

  const wrong: [string, Record<string, unknown>, string][] = [
    ['an unknown option', { timout: 5 }, 'option timout is not known; the nearest known name is timeout.'],
    [
      'an unknown option of keepAlive',
      { keepAlive: { idle: 5 } },
      'option keepAlive.idle is not known; the nearest known name is keepAlive.idleTimeout.',
    ],
    [
      'a profile',
      { profile: 'lax' },
      "option profile must be 'registry' or 'strict', got \"lax\"; choose one of them.",
    ],
    [
      'a duration',
      { timeout: '10 seconds' },
      'option timeout must be 1 ms to 1 h, got "10 seconds"; write milliseconds',
    ],
    [
      'a connect time beyond the whole',
      { timeout: '2s', connectTimeout: '3s' },
      'connectTimeout must be at most timeout (2000 ms)',
    ],
    [
      'a range with host bits',
      { deny: ['10.1.2.3/8'] },
      'option deny must hold CIDR ranges whose host bits are zero, got "10.1.2.3/8"',
    ],
    ['a range in another spelling', { deny: ['010.0.0.0/8'] }, 'option deny must hold CIDR ranges'],
    ['no list', { deny: '10.0.0.0/8' }, 'option deny must be a list of CIDR ranges'],
    ['a CA that is none', { testMode: { ca: 'x' } }, 'option testMode.ca must be a certificate in PEM'],
    ['a resolver', { resolver: '8.8.8.8' }, 'option resolver must be a function'],
    ['a number of connections', { keepAlive: { maxIdle: -1 } }, 'option keepAlive.maxIdle must be a whole number'],
    ['a flag in quotes', { production: 'yes' }, 'option production must be true or false, got "yes"'],
  ];

  it.each(wrong)('refuses %s in one sentence', (_what, options, message) => {
    expect(() => readOptions(options)).toThrow(InvalidOptionsError);
    expect(() => readOptions(options)).toThrow(message);
  });

  describe('in production', () => {
    const { NODE_ENV } = process.env;

    afterEach(() => {
      process.env.NODE_ENV = NODE_ENV;
    });

    it('refuses test mode, whether an option or NODE_ENV says so', () => {
      const message = 'option testMode must be off in production, got true; remove it, or set production to false.';
      expect(() => readOptions({ testMode: true, production: true })).toThrow(message);
      expect(() => readOptions({ testMode: true, requireProduction: true })).toThrow(message);
      process.env.NODE_ENV = 'production';
      expect(() => readOptions({ testMode: true })).toThrow(message);
      expect(readOptions({ testMode: true, production: false })).toMatchObject({ testMode: true });
    });

    it('refuses to be off where it is required', () => {
      expect(() => readOptions({ requireProduction: true, production: false })).toThrow(
        'option production must not be off under requireProduction, got false; remove one of the two.',
      );
    });

    it('lets internal receivers be allowed, unless requireProduction forbids any', () => {
      const allow = ['10.1.2.3/32'];
      expect(readOptions({ allow, production: true }).allow).toHaveLength(1);
      expect(() => readOptions({ allow, requireProduction: true })).toThrow(
        'option allow must be empty under requireProduction, got ["10.1.2.3/32"]; remove one of the two.',
      );
    });
  });

  it.each([
    '0.0.0.0/0',
    '169.254.169.254/32',
    '169.254.0.0/16',
    '100.64.0.0/10',
    '168.63.129.16',
    '224.0.0.0/4',
    '::/0',
    'fe80::1',
    'fc00::/7',
    'fd00:ec2::254',
    'ff02::/16',
  ])('never lets %s be allowed', (range) => {
    expect(() => readOptions({ allow: [range] })).toThrow(/^OutboundHttp cannot start: option allow must not touch /);
  });

  it('knows every option of the type', () => {
    const all: Required<OutboundHttpOptions> = {
      profile: 'strict',
      timeout: 1,
      connectTimeout: 1,
      deny: [],
      allow: [],
      testMode: false,
      production: true,
      requireProduction: true,
      resolver: async () => [],
      keepAlive: {},
    };
    expect(() => readOptions(all)).not.toThrow();
  });
});
