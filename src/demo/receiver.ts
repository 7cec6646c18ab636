import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestCertificate } from './certificates';

/** A request as its receiver saw it. */
export interface Arrival {
  readonly receiver: string;
  readonly deliveryId: string;
  readonly handle: string;
  /** Which replica says that it sent it. */
  readonly replica: string;
  /** `performance.now()` when it had arrived, and when it was answered. */
  readonly arrivedAt: number;
  answeredAt?: number;
  /** The status that it was answered with; undefined while, or when, it is not answered. */
  status?: number;
}

/** What a receiver answers: undefined for silence. */
export type Answer = { readonly status: number; readonly headers?: Record<string, string> } | undefined;

/** What a receiver says beside its status: for nobody but who sent the request. */
export const answerText = 'an answer in words of its own';

export type Behaviour = (arrival: Arrival) => Answer | Promise<Answer>;

/** A partner's HTTPS endpoint on this machine. It writes down whatever arrives. */
export interface Receiver {
  readonly name: string;
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** From now on it answers like this. At first it answers 200 to everything. */
  behave(behaviour: Behaviour): void;
  close(): void;
}

export async function startReceiver(name: string, { certificate, key }: TestCertificate): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  let behaviour: Behaviour = accept;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const arrival = readArrival(name, request, await text(request));
    arrivals.push(arrival);
    const answer = await behaviour(arrival);
    if (!answer) return;
    arrival.status = answer.status;
    arrival.answeredAt = performance.now();
    response.writeHead(answer.status, answer.headers).end(answerText);
  };
  const server = createServer({ cert: certificate, key }, (request, response) => {
    // The sender may be gone: killed, or tired of waiting.
    response.on('error', () => undefined);
    handle(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    name,
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    arrivals,
    behave: (next) => void (behaviour = next),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export const accept: Behaviour = () => ({ status: 200 });

function readArrival(receiver: string, { headers }: IncomingMessage, body: string): Arrival {
  const { handle } = JSON.parse(body) as { handle: string };
  return {
    receiver,
    deliveryId: String(headers['delivery-id']),
    handle,
    replica: /\(replica (\w+)\)/.exec(headers['user-agent'] ?? '')?.[1] ?? '?',
    arrivedAt: performance.now(),
  };
}
