import { X509Certificate } from 'node:crypto';
import type { Profile } from '../address-policy/classify-address';
import { neverAllowed, overlap, readRange, type Range } from '../address-policy/range';
import { dnsResolver } from '../resolve/dns-resolver';
import type { Resolver } from '../resolve/resolver';
import { duration, flag, invalid, isRecord, refuseUnknown, requireRecord } from './option-rules';
import type { OutboundHttpOptions } from './outbound-http-options';
import type { PoolLimits, Settings } from './settings';

/** Every option, in the order of the documentation. */
export const optionNames = [
  'profile',
  'timeout',
  'connectTimeout',
  'deny',
  'allow',
  'testMode',
  'production',
  'requireProduction',
  'resolver',
  'keepAlive',
] as const satisfies readonly (keyof OutboundHttpOptions)[];

/**
 * Checks the options and fills in the defaults.
 *
 * @throws InvalidOptionsError with one sentence: option, rule, what was given, what to do.
 */
export function readOptions(options: OutboundHttpOptions): Settings {
  requireRecord(options);
  refuseUnknown('', options, optionNames);
  const timeout = duration('timeout', options.timeout, 10_000, 1);
  const connectTimeout = duration('connectTimeout', options.connectTimeout, Math.min(5000, timeout), 1);
  if (connectTimeout > timeout) {
    throw invalid('connectTimeout', `must be at most timeout (${timeout} ms)`, options.connectTimeout, 'lower it');
  }
  const requireProduction = flag('requireProduction', options.requireProduction, false);
  if (requireProduction && options.production === false) {
    throw invalid('production', 'must not be off under requireProduction', false, 'remove one of the two');
  }
  const production = flag('production', options.production, process.env.NODE_ENV === 'production') || requireProduction;
  return {
    profile: profile(options.profile),
    timeout,
    connectTimeout,
    deny: ranges('deny', options.deny),
    allow: allowRanges(options.allow, requireProduction),
    ...testMode(options.testMode, production),
    resolver: resolver(options.resolver),
    keepAlive: keepAlive(options.keepAlive === undefined ? {} : options.keepAlive),
  };
}

function profile(given: unknown): Profile {
  if (given === undefined || given === 'registry' || given === 'strict') {
    return given ?? 'registry';
  }
  throw invalid('profile', "must be 'registry' or 'strict'", given, 'choose one of them');
}

function ranges(option: string, given: unknown = []): Range[] {
  if (!Array.isArray(given)) {
    throw invalid(option, 'must be a list of CIDR ranges', given, "write for example ['10.1.2.3/32']");
  }
  return given.map((text: unknown) => {
    const range = typeof text === 'string' ? readRange(text) : undefined;
    if (!range) {
      throw invalid(option, 'must hold CIDR ranges whose host bits are zero', text, "write for example '10.1.2.0/24'");
    }
    return range;
  });
}

function allowRanges(given: OutboundHttpOptions['allow'], requireProduction: boolean): Range[] {
  const allow = ranges('allow', given);
  if (requireProduction && allow.length > 0) {
    throw invalid('allow', 'must be empty under requireProduction', given, 'remove one of the two');
  }
  allow.forEach((range, index) => {
    const forbidden = neverAllowed.find((never) => overlap(never.range, range));
    if (forbidden) {
      throw invalid('allow', `must not touch ${forbidden.what}`, given?.[index], 'name the receivers more narrowly');
    }
  });
  return allow;
}

function testMode(given: unknown, production: boolean): { testMode: boolean; testCa: string | undefined } {
  if (given === undefined || given === false) {
    return { testMode: false, testCa: undefined };
  }
  if (given !== true && !isRecord(given)) {
    throw invalid('testMode', 'must be true, false or { ca }', given, 'write true, or { ca: <PEM text> }');
  }
  if (production) {
    throw invalid('testMode', 'must be off in production', given, 'remove it, or set production to false');
  }
  if (given === true) {
    return { testMode: true, testCa: undefined };
  }
  refuseUnknown('testMode.', given, ['ca']);
  if (given.ca !== undefined && !isCertificate(given.ca)) {
    throw invalid('testMode.ca', 'must be a certificate in PEM', typeof given.ca, 'read the file and pass its text');
  }
  return { testMode: true, testCa: given.ca };
}

function resolver(given: unknown): Resolver {
  if (given === undefined) {
    return dnsResolver();
  }
  if (!isResolver(given)) {
    throw invalid('resolver', 'must be a function from a host name to its addresses', typeof given, 'pass a function');
  }
  return given;
}

function keepAlive(given: unknown): PoolLimits {
  if (!isRecord(given)) {
    throw invalid(
      'keepAlive',
      'must be an object',
      typeof given,
      'write { maxIdle, idleTimeout, maxAge } or leave it out',
    );
  }
  refuseUnknown('keepAlive.', given, ['maxIdle', 'idleTimeout', 'maxAge']);
  const { maxIdle = 256 } = given;
  if (typeof maxIdle !== 'number' || !Number.isInteger(maxIdle) || maxIdle < 0 || maxIdle > 10_000) {
    throw invalid('keepAlive.maxIdle', 'must be a whole number from 0 to 10,000', maxIdle, 'write 0 to keep none');
  }
  return {
    maxIdle,
    idleTimeout: duration('keepAlive.idleTimeout', given.idleTimeout, 4000, 1),
    maxAge: duration('keepAlive.maxAge', given.maxAge, 60_000, 1),
  };
}

function isResolver(value: unknown): value is Resolver {
  return typeof value === 'function';
}

function isCertificate(value: unknown): value is string {
  try {
    return typeof value === 'string' && new X509Certificate(value).subject !== '';
  } catch {
    return false;
  }
}
