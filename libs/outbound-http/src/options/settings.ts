import type { Profile } from '../address-policy/classify-address';
import type { Range } from '../address-policy/range';
import type { Resolver } from '../resolve/resolver';

/** Options with every default filled in and every text parsed. Durations are milliseconds. */
export interface Settings {
  profile: Profile;
  timeout: number;
  connectTimeout: number;
  deny: readonly Range[];
  allow: readonly Range[];
  testMode: boolean;
  testCa: string | undefined;
  resolver: Resolver;
  keepAlive: PoolLimits;
}

/** What bounds the connections that are kept. */
export interface PoolLimits {
  /** Idle connections kept in all; the one idle longest goes first. 0 keeps none. */
  maxIdle: number;
  /** Milliseconds that a connection may stay idle. */
  idleTimeout: number;
  /** Milliseconds from its opening after which a connection is not used for another attempt. */
  maxAge: number;
}
