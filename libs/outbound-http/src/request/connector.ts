import type { Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { canonicalText, readAddress } from '../address-policy/address';
import type { Destination } from '../address-policy/read-destination';
import type { CheckedAddress } from '../resolve/resolve-destination';
import type { Deadline } from './deadline';
import { dial } from './dial';
import type { TlsSessions } from './tls-sessions';

/** Where one attempt may connect to, and until when. */
export interface Route {
  destination: Destination;
  addresses: readonly CheckedAddress[];
  deadline: Deadline;
}

export interface Connected {
  socket: Socket;
  /** Canonical text of the address that the socket really reached. */
  remote: string;
}

/** A socket that reached an address which was never checked. */
export class UncheckedRemoteError extends Error {
  readonly code = 'UNCHECKED_REMOTE';
  constructor(readonly remote: string) {
    super('The connection leads to an address that was not checked.');
  }
}

export interface ConnectorContext {
  secureContext: SecureContext;
  sessions: TlsSessions;
}

export type ConnectDone = (error: Error | undefined, connected?: Connected) => void;

/**
 * Connects to a route's addresses: TCP, then a second look at where the socket went, before a byte is sent, then TLS
 * with the host's name for SNI and certificate whatever address was reached.
 *
 * @returns cancels: sockets are destroyed and `done` is not called any more.
 */
export function openConnection(route: Route, context: ConnectorContext, done: ConnectDone): () => void {
  const { destination, addresses } = route;
  let cancel = dial(addresses, destination.port, (error, socket) => {
    if (!socket) {
      done(error);
      return;
    }
    const remote = remoteOf(socket);
    if (!addresses.some(({ canonical }) => canonical === remote)) {
      socket.on('error', () => undefined).destroy();
      done(new UncheckedRemoteError(remote));
      return;
    }
    if (destination.protocol === 'http:') {
      done(undefined, { socket, remote });
      return;
    }
    cancel = secure(socket, destination, context, (failure, secured) => {
      done(failure, secured && { socket: secured, remote });
    });
  });
  return () => cancel();
}

function secure(
  tcp: Socket,
  { hostname, literal, origin }: Destination,
  { secureContext, sessions }: ConnectorContext,
  done: (error: Error | undefined, socket?: Socket) => void,
): () => void {
  // What goes wrong below the TLS socket is told by that one.
  tcp.on('error', () => undefined);
  const socket = connectTls({
    socket: tcp,
    host: hostname,
    // RFC 6066 section 3: no SNI for literals. The certificate is checked against `host` all the same.
    servername: literal ? '' : hostname,
    secureContext,
    session: sessions.get(origin),
    ALPNProtocols: ['http/1.1'],
    // Said here, since NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment would change the default.
    rejectUnauthorized: true,
  });
  const failed = (error: Error): void => {
    sessions.forget(origin);
    done(error);
  };
  socket.on('session', (session) => sessions.keep(origin, session, socket.isSessionReused()));
  socket.on('error', failed);
  socket.once('secureConnect', () => {
    socket.removeListener('error', failed);
    done(undefined, socket);
  });
  return () => {
    socket.removeListener('error', failed);
    socket.on('error', () => undefined).destroy();
  };
}

function remoteOf(socket: Socket): string {
  const address = readAddress(socket.remoteAddress ?? '');
  return address ? canonicalText(address) : 'unknown';
}
