import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import type { Handle } from '../contender';

/** All tenants' receivers, on one port. */
export interface WebhookReceiver {
  readonly port: number;
  close(): void;
}

/**
 * A receiver on this machine: it tells `handle` the number of each message, and answers when that has ended. Messages with negative
 * numbers are those of the dead endpoint, which by then has been waited for in vain.
 */
export async function startWebhookReceiver(handle: Handle, port = 0): Promise<WebhookReceiver> {
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { seq } = (await json(request)) as { seq: number };
    await handle(seq);
    response.writeHead(seq < 0 ? 503 : 204).end();
  };
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    receive(request, response).catch(() => response.destroy());
  });
  // A sender that has given up is not waited for.
  server.keepAliveTimeout = 60_000;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as { port: number }).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
