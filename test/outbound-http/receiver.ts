import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { listen } from './listen';

/** One accepted connection, as the receiver sees it. */
export interface Accepted {
  socket: Socket;
  /** What has been received so far, decrypted. */
  received: string;
  /** Resolves once the connection is closed, whichever end closed it. */
  closed: Promise<void>;
}

export interface Receiver {
  port: number;
  /** `http` or `https` origin under 127.0.0.1. */
  origin: string;
  accepted: Accepted[];
  /** How many TLS handshakes failed, in whatever way. */
  failedHandshakes: number;
  close(): void;
}

export interface ReceiverOptions {
  tls?: { certificate: string; key: string };
  host?: string;
  port?: number;
}

/**
 * A receiver that speaks bytes, not HTTP: `onRequest` is called when a request's head has arrived, and says on the
 * socket whatever the test wants, or nothing.
 */
export async function startReceiver(
  onRequest: (connection: Accepted) => void,
  { tls, host = '127.0.0.1', port = 0 }: ReceiverOptions = {},
): Promise<Receiver> {
  const accepted: Accepted[] = [];
  const onConnection = (socket: Socket): void => {
    const connection: Accepted = {
      socket,
      received: '',
      closed: new Promise((resolve) => {
        socket.once('close', () => resolve());
      }),
    };
    accepted.push(connection);
    // A reset by the client is one of the things that tests wait for, as is a write that fails after it.
    socket.on('error', () => undefined);
    let heads = 0;
    socket.on('data', (chunk: Buffer) => {
      connection.received += chunk.toString('latin1');
      const arrived = connection.received.split('\r\n\r\n').length - 1;
      if (arrived > heads) {
        heads = arrived;
        onRequest(connection);
      }
    });
  };
  const server: Server = tls
    ? createTlsServer({ cert: tls.certificate, key: tls.key }, onConnection)
    : createServer(onConnection);
  const receiver: Receiver = {
    port: await listen(server, host, port),
    origin: '',
    accepted,
    failedHandshakes: 0,
    close: () => {
      for (const { socket } of accepted) {
        socket.destroy();
      }
      server.close();
    },
  };
  server.on('tlsClientError', () => {
    receiver.failedHandshakes++;
  });
  receiver.origin = `${tls ? 'https' : 'http'}://127.0.0.1:${receiver.port}`;
  return receiver;
}

/** Answers 200 with a body and keeps the connection. */
export function answerOk({ socket }: Accepted, body = 'ok'): void {
  socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}
