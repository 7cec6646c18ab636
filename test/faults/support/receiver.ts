import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request of a replica. */
export interface Arrival {
  readonly id: string;
  readonly attempt: number;
  readonly pid: number;
  readonly at: number;
}

/** A receiver in the test's process, to which replicas send over HTTP. */
export interface Receiver {
  readonly url: string;
  readonly arrivals: Arrival[];
  /** What the next requests get: 200 at once, unless this says otherwise. It may keep the response for later. */
  answer: (arrival: Arrival, response: ServerResponse) => void;
  of(id: string): Arrival[];
  close(): Promise<void>;
}

export const accept = (_: Arrival, response: ServerResponse): void => void response.end();

export async function startReceiver(): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    request.resume();
    const header = (name: string): string => String(request.headers[name]);
    const arrival = {
      id: header('x-id'),
      attempt: Number(header('x-attempt')),
      pid: Number(header('x-pid')),
      at: Date.now(),
    };
    arrivals.push(arrival);
    receiver.answer(arrival, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    arrivals,
    answer: accept,
    of: (id) => arrivals.filter((arrival) => arrival.id === id),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}
