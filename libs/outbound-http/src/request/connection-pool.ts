import type { PoolLimits } from '../options/settings';
import { Connection } from './connection';
import type { ConnectorContext, Route } from './connector';

/** Idle connections by origin. Those in use belong to their attempts and are bounded by the callers' concurrency. */
export class ConnectionPool {
  readonly #byOrigin = new Map<string, Connection[]>();
  /** Oldest first. */
  readonly #idle = new Set<Connection>();
  #closed = false;

  constructor(
    private readonly context: ConnectorContext,
    private readonly limits: PoolLimits,
  ) {}

  /** The idle connection used last whose socket leads to one of this attempt's checked addresses, or a new one. */
  take(route: Route): Connection {
    const connection =
      this.#takeIdle(route) ?? new Connection(route.destination.origin, this.context, this.limits.idleTimeout);
    connection.hold(route);
    return connection;
  }

  #takeIdle({ destination, addresses }: Route): Connection | undefined {
    const siblings = this.#byOrigin.get(destination.origin) ?? [];
    for (let index = siblings.length - 1; index >= 0; index--) {
      const connection = siblings[index];
      if (!connection) {
        continue;
      }
      if (!connection.reusable || this.#tooOld(connection)) {
        this.#discard(connection);
      } else if (addresses.some(({ canonical }) => canonical === connection.remote)) {
        this.#remove(connection);
        return connection;
      }
    }
    return undefined;
  }

  /** Takes a connection back whose answer was read to its end. */
  give(connection: Connection): void {
    connection.release();
    if (this.#closed || this.limits.maxIdle === 0 || !connection.reusable || this.#tooOld(connection)) {
      connection.destroy();
      return;
    }
    const siblings = this.#byOrigin.get(connection.origin);
    if (siblings) {
      siblings.push(connection);
    } else {
      this.#byOrigin.set(connection.origin, [connection]);
    }
    this.#idle.add(connection);
    connection.onClosed = () => this.#discard(connection);
    if (this.#idle.size > this.limits.maxIdle) {
      const [oldest] = this.#idle;
      if (oldest) {
        this.#discard(oldest);
      }
    }
  }

  /** Closes what is idle and keeps nothing from now on. Attempts under way end by themselves. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#idle) {
      this.#discard(connection);
    }
  }

  #tooOld(connection: Connection): boolean {
    return performance.now() - connection.openedAt > this.limits.maxAge;
  }

  #discard(connection: Connection): void {
    this.#remove(connection);
    connection.destroy();
  }

  #remove(connection: Connection): void {
    connection.onClosed = undefined;
    this.#idle.delete(connection);
    const siblings = this.#byOrigin.get(connection.origin);
    const index = siblings?.lastIndexOf(connection) ?? -1;
    if (siblings && index >= 0) {
      siblings.splice(index, 1);
      if (siblings.length === 0) {
        this.#byOrigin.delete(connection.origin);
      }
    }
  }
}
