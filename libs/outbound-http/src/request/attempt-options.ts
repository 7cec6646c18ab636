import type { Profile } from '../address-policy/classify-address';
import { InvalidRequestError } from '../errors';
import { readDuration, type Duration } from '../options/duration';
import type { Settings } from '../options/settings';
import type { DeadlineOptions } from './deadline';
import type { OutboundRequest } from './read-request';

/** The limits and the profile of one request, where they differ from the client's. */
export interface AttemptOptions {
  profile?: Profile | undefined;
  /** For the whole attempt. */
  timeout?: Duration | undefined;
  /** For name look-up, TCP and TLS. */
  connectTimeout?: Duration | undefined;
  /** For name look-up alone; `connectTimeout` is then for TCP and TLS alone. Default: they share `connectTimeout`. */
  resolveTimeout?: Duration | undefined;
  /**
   * Asked once the addresses are known and judged, before anything is connected or sent: false ends the attempt as
   * `unreachable`, kind `withdrawn`. What it throws, `request` throws.
   */
  beforeConnect?: (() => Promise<boolean>) | undefined;
  /** The status is all that matters: nothing of the body is read, and `body` is empty. Default false. */
  ignoreBody?: boolean | undefined;
  /** Ends the attempt as `unreachable`, kind `aborted`. */
  signal?: AbortSignal | undefined;
}

export type PostOptions = Omit<OutboundRequest, 'method'> & AttemptOptions;
export type RequestOptions = OutboundRequest & AttemptOptions;

/** The profile of one request: its own, or else the client's. */
export function readProfile(given: Profile | undefined, settings: Settings): Profile {
  if (given !== undefined && given !== 'registry' && given !== 'strict') {
    throw new InvalidRequestError('INVALID_PROFILE', `profile must be 'registry' or 'strict'; got ${String(given)}.`);
  }
  return given ?? settings.profile;
}

/** The time limits of one request: its own, or else the client's. */
export function readLimits(options: AttemptOptions, settings: Settings): DeadlineOptions {
  return {
    timeout: limit('timeout', options.timeout) ?? settings.timeout,
    connectTimeout: limit('connectTimeout', options.connectTimeout) ?? settings.connectTimeout,
    resolveTimeout: limit('resolveTimeout', options.resolveTimeout),
    signal: options.signal,
  };
}

function limit(name: string, given: Duration | undefined): number | undefined {
  if (given === undefined) {
    return undefined;
  }
  const value = readDuration(given);
  if (value === undefined || value <= 0 || value > 3_600_000) {
    throw new InvalidRequestError('INVALID_TIMEOUT', `${name} must be above 0 and at most 1 h; got ${String(given)}.`);
  }
  return value;
}
