import { Client } from 'undici';
import { openConnection, type ConnectorContext, type Route } from './connector';

/**
 * One connection to one origin: an undici client that holds a single socket and serves one attempt at a time.
 * Whenever undici wants a socket, for the first time or because an idle one was just closed, it is opened along the
 * route of the attempt that holds the connection, so no socket ever leads where that attempt's own look-up did not.
 */
export class Connection {
  readonly client: Client;
  /** Canonical text of the address that the open socket leads to; undefined while there is none. */
  remote: string | undefined;
  /** When the socket was opened, on the monotonic clock, in milliseconds. */
  openedAt = 0;
  /** Called when the socket is gone. */
  onClosed: (() => void) | undefined;
  #route: Route | undefined;
  #cancel: (() => void) | undefined;

  constructor(
    readonly origin: string,
    context: ConnectorContext,
    idleTimeout: number,
  ) {
    this.client = new Client(origin, {
      pipelining: 1,
      keepAliveTimeout: idleTimeout,
      // A receiver may ask for less than our idle time, never for more.
      keepAliveMaxTimeout: idleTimeout,
      // The attempt's own deadline covers headers and body; undici's coarse timers would only cost.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_options, callback) => {
        const route = this.#route;
        if (!route) {
          callback(new Error('A connection was asked for outside an attempt.'), null);
          return;
        }
        route.deadline.enter('connect');
        this.#cancel = openConnection(route, context, (error, connected) => {
          this.#cancel = undefined;
          if (!connected) {
            callback(error ?? new Error('The connection failed.'), null);
            return;
          }
          this.remote = connected.remote;
          this.openedAt = performance.now();
          route.deadline.enter('response');
          callback(null, connected.socket);
        });
      },
    });
    this.client.on('disconnect', () => {
      this.remote = undefined;
      this.onClosed?.();
    });
  }

  /** Hands the connection to an attempt. */
  hold(route: Route): void {
    this.#route = route;
    if (this.remote !== undefined) {
      route.deadline.enter('response');
    }
  }

  /** Takes it back from the attempt. From here on no new socket can be opened. */
  release(): void {
    this.#route = undefined;
  }

  /** Whether the socket can serve another attempt. */
  get reusable(): boolean {
    return this.remote !== undefined && this.client.stats.connected;
  }

  destroy(): void {
    this.release();
    this.#cancel?.();
    this.#cancel = undefined;
    void this.client.destroy();
  }
}
