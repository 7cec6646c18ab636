import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { buffer } from 'node:stream/consumers';
import type { TestCertificate } from '../../../src/demo/certificates';
import { listen } from '../../outbound-http/listen';

/** A request as its receiver saw it. */
export interface Arrival {
  readonly rawHeaders: readonly string[];
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** A status, with headers; `cut` ends the connection without an answer. */
export type Answer = number | { readonly status: number; readonly headers: Readonly<Record<string, string>> } | 'cut';

/** A receiver of a test: it writes down whatever arrives. */
export interface TestReceiver {
  readonly url: string;
  readonly arrivals: Arrival[];
  /** What it answers from now on. At first 204. */
  answer(next: (arrival: Arrival) => Answer | Promise<Answer>): void;
  close(): void;
}

/** @param certificate HTTPS with it; without one HTTP */
export async function startTestReceiver(certificate?: TestCertificate): Promise<TestReceiver> {
  const arrivals: Arrival[] = [];
  let answering: (arrival: Arrival) => Answer | Promise<Answer> = () => 204;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request);
    const arrival = { rawHeaders: request.rawHeaders, headers: request.headers as Record<string, string>, body };
    arrivals.push(arrival);
    const answer = await answering(arrival);
    if (answer === 'cut') request.socket.destroy();
    else if (typeof answer === 'number') response.writeHead(answer).end();
    else response.writeHead(answer.status, answer.headers).end();
  };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    response.on('error', () => undefined);
    handle(request, response).catch(() => response.destroy());
  };
  const server = certificate
    ? createTlsServer({ cert: certificate.certificate, key: certificate.key }, listener)
    : createServer(listener);
  const port = await listen(server);
  return {
    url: `${certificate ? 'https' : 'http'}://127.0.0.1:${port}/hooks`,
    arrivals,
    answer: (next) => void (answering = next),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
