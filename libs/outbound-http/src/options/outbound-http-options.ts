import type { Profile } from '../address-policy/classify-address';
import type { Resolver } from '../resolve/resolver';
import type { Duration } from './duration';

export interface KeepAliveOptions {
  /** Idle connections kept in all. Default 256; 0 keeps none. */
  maxIdle?: number;
  /** How long one may stay idle. Default 4 s; less where the receiver's Keep-Alive header asks for less. */
  idleTimeout?: Duration;
  /** How old one may become before a new one takes its place. Default 1 minute. */
  maxAge?: Duration;
}

export interface OutboundHttpOptions {
  /** What addresses are judged by when a request names no profile. Default `registry`. */
  profile?: Profile;
  /** For a whole attempt, body included. Default 10 s. */
  timeout?: Duration;
  /** For name look-up, TCP and TLS together. Default 5 s; at most `timeout`. */
  connectTimeout?: Duration;
  /** CIDR ranges that are refused on top of the profile. Default none. */
  deny?: readonly string[];
  /** CIDR ranges of internal receivers that may be reached in spite of the profile. Default none. */
  allow?: readonly string[];
  /** Lets loopback literals through, over HTTPS or HTTP; `ca` (PEM) is trusted beside the public roots. Default off. */
  testMode?: boolean | { ca?: string };
  /** Refuses test mode. Default: whether NODE_ENV is `production`. */
  production?: boolean;
  /** Implies `production` and refuses `allow` as well: nothing internal can be reached at all. Default off. */
  requireProduction?: boolean;
  /** Answers host names. Default: the system's name servers. */
  resolver?: Resolver;
  keepAlive?: KeepAliveOptions;
}
