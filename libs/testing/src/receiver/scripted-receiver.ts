import { milliseconds, type Duration } from 'nest-deliveries';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { NotReceivedError } from '../errors';
import { play, type Answer } from './answer';
import { readRequest, type ReceivedRequest } from './received-request';

export interface ReceiverOptions {
  /** Key and certificate in PEM. Default: plain HTTP. */
  readonly tls?: { readonly key: string; readonly cert: string };
  /** What it answers when nothing else is scripted. Default 204. */
  readonly answer?: Answer;
}

/** An HTTP server on a port of the loopback address that does what a test says, and remembers what it got. */
export interface ScriptedReceiver {
  /** `http://127.0.0.1:…`, without a slash at the end. */
  readonly url: string;
  /** What arrived so far, body included, whatever was answered. */
  readonly requests: readonly ReceivedRequest[];
  /** Answers to the next requests, one each; those before them come first. */
  answer(...answers: readonly Answer[]): void;
  /** From now on the answer to requests for which there is no other. */
  always(answer: Answer): void;
  /**
   * Waits until so many requests have arrived.
   * @param within in real time; default `'5s'`
   * @returns the first `count` of them
   * @throws NotReceivedError
   */
  received(count: number, within?: Duration): Promise<readonly ReceivedRequest[]>;
  /** Cuts what is open. Resolves when the port is free. */
  close(): Promise<void>;
}

/** Starts a receiver. */
export async function startReceiver({ tls, answer = 204 }: ReceiverOptions = {}): Promise<ScriptedReceiver> {
  const requests: ReceivedRequest[] = [];
  const next: Answer[] = [];
  let otherwise = answer;
  const take = async (message: IncomingMessage): Promise<[Answer, ReceivedRequest]> => {
    const request = await readRequest(message);
    requests.push(request);
    return [next.shift() ?? otherwise, request];
  };
  const listener: RequestListener = (message, response) => {
    take(message)
      .then(([scripted, request]) => play(scripted, request, response))
      // The sender went away, or an answer's function threw: nobody is there to be told but the sender.
      .catch(() => response.socket?.destroy());
  };
  const server = tls ? createTlsServer(tls, listener) : createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: (...answers) => void next.push(...answers),
    always: (scripted) => {
      otherwise = scripted;
    },
    received: (count, within = '5s') => arrived(requests, count, milliseconds(within) ?? 0),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function arrived(
  requests: readonly ReceivedRequest[],
  count: number,
  within: number,
): Promise<readonly ReceivedRequest[]> {
  const deadline = performance.now() + within;
  while (requests.length < count) {
    if (performance.now() > deadline) throw new NotReceivedError(count, requests.length, within);
    await delay(5);
  }
  return requests.slice(0, count);
}
