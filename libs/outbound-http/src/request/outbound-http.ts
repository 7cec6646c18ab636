import { createSecureContext, rootCertificates } from 'node:tls';
import type { Profile } from '../address-policy/classify-address';
import { readDestination, type Destination, type DestinationRules } from '../address-policy/read-destination';
import type { RefusalReason, Verdict } from '../address-policy/reasons';
import type { OutboundHttpOptions } from '../options/outbound-http-options';
import { readOptions } from '../options/read-options';
import type { Settings } from '../options/settings';
import { resolveDestination, resolveLiteral, type Resolution } from '../resolve/resolve-destination';
import { readLimits, readProfile, type PostOptions, type RequestOptions } from './attempt-options';
import { ConnectionPool } from './connection-pool';
import { Deadline, type Stopped } from './deadline';
import { exchange } from './exchange';
import { readRequest, type OutboundRequest } from './read-request';
import type { OutboundResult } from './result';
import { TlsSessions } from './tls-sessions';

/** What an operator's log is told of a refusal; a caller never sees the address. */
export interface RefusedDestination {
  reason: RefusalReason;
  address: string;
}

/** Whether the caller, now that the addresses are known, still wants to send. */
async function withdrawn(
  beforeConnect: RequestOptions['beforeConnect'],
  deadline: Deadline,
): Promise<OutboundResult | undefined> {
  if (!beforeConnect) {
    return undefined;
  }
  deadline.pause();
  const answer = await deadline.race(beforeConnect());
  if (typeof answer !== 'boolean') {
    return answer;
  }
  return answer ? undefined : { type: 'unreachable', kind: 'withdrawn' };
}

/**
 * The client for destinations that third parties supply. Every attempt walks the same way: read the destination,
 * resolve it once, judge every address, connect to one of those and no other, send, read a bounded answer.
 */
export class OutboundHttp {
  readonly #settings: Settings;
  readonly #pool: ConnectionPool;
  readonly #onRefused: (refused: RefusedDestination) => void;

  /** @throws InvalidOptionsError */
  constructor(options: OutboundHttpOptions = {}, onRefused: (refused: RefusedDestination) => void = () => undefined) {
    this.#settings = readOptions(options);
    this.#onRefused = onRefused;
    const { testCa, keepAlive } = this.#settings;
    const secureContext = createSecureContext(testCa === undefined ? {} : { ca: [...rootCertificates, testCa] });
    this.#pool = new ConnectionPool({ secureContext, sessions: new TlsSessions() }, keepAlive);
  }

  /** Sends a POST. See `request`. */
  post(url: string, options: PostOptions = {}): Promise<OutboundResult> {
    return this.request(url, { ...options, method: 'POST' });
  }

  /**
   * Makes one attempt. Whatever the destination or its receiver does comes back as a result.
   *
   * @throws InvalidRequestError for what only the caller can mend: method, headers, body, time limits
   */
  async request(url: string, options: RequestOptions): Promise<OutboundResult> {
    const request = readRequest(options);
    const rules = this.#rules(options.profile);
    const verdict = readDestination(url, rules);
    if (!verdict.allowed) {
      return this.#refused(verdict.reason, verdict.address);
    }
    const { destination } = verdict;
    const deadline = new Deadline(readLimits(options, this.#settings));
    try {
      // The caller's signal may have fired before the first step: then not even a name is asked for.
      const resolved =
        deadline.stopped ??
        (destination.literal ? resolveLiteral(destination) : await this.#resolve(destination, rules, deadline));
      switch (resolved.type) {
        case 'resolved':
          return (
            (await withdrawn(options.beforeConnect, deadline)) ??
            (await this.#send({ destination, addresses: resolved.addresses, deadline }, request, options.ignoreBody))
          );
        case 'refused':
          return this.#refused(resolved.reason, resolved.address);
        case 'unresolved':
          return { type: 'unreachable', kind: resolved.kind };
        default:
          return resolved;
      }
    } finally {
      deadline.release();
    }
  }

  /** Like the function of the same name, with this client's own ranges and test mode. */
  checkDestination(url: string, options: { profile?: Profile } = {}): Verdict {
    const verdict = readDestination(url, this.#rules(options.profile));
    return verdict.allowed ? { allowed: true } : { allowed: false, reason: verdict.reason };
  }

  /** Closes idle connections and keeps none from now on. Attempts under way end by themselves. */
  close(): void {
    this.#pool.close();
  }

  async #resolve(destination: Destination, rules: DestinationRules, deadline: Deadline): Promise<Resolution | Stopped> {
    deadline.enter('resolve');
    const unheard = new AbortController();
    try {
      return await deadline.race(resolveDestination(destination, rules, this.#settings.resolver, unheard.signal));
    } finally {
      unheard.abort();
    }
  }

  async #send(
    route: Parameters<ConnectionPool['take']>[0],
    request: OutboundRequest,
    ignoreBody = false,
  ): Promise<OutboundResult> {
    const connection = this.#pool.take(route);
    const { path } = route.destination;
    const { result, complete } = await exchange(connection, path, request, route.deadline, ignoreBody);
    if (complete) {
      this.#pool.give(connection);
    } else {
      connection.destroy();
    }
    return result;
  }

  #refused(reason: RefusalReason, address: string | undefined): OutboundResult {
    if (address !== undefined) {
      this.#onRefused({ reason, address });
    }
    return { type: 'refused', reason };
  }

  #rules(profile: Profile | undefined): DestinationRules {
    const { deny, allow, testMode } = this.#settings;
    return { profile: readProfile(profile, this.#settings), deny, allow, testMode };
  }
}
