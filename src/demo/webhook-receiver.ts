import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TestCertificate } from './certificates';
import { answerText } from './receiver';

/** A signed message as a partner's system received it. */
export interface WebhookArrival {
  readonly id: string;
  readonly handle: string;
  /** What its own verifier says: `accepted`, or the class of the error. */
  readonly verdict: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  status?: number;
}

/** Throws for what is not signed as it should be. */
export type Verify = (arrival: Pick<WebhookArrival, 'headers' | 'rawHeaders' | 'body'>) => unknown;

/** A partner's HTTPS endpoint on this machine that verifies what arrives before it reads it. */
export interface WebhookReceiver {
  readonly url: string;
  readonly arrivals: readonly WebhookArrival[];
  /** Knows the secrets from now on. */
  trust(verify: Verify): void;
  /** Answers this from now on; at first 200 to what it accepts and 401 to anything else. */
  answer(status: number | undefined): void;
  close(): void;
}

export async function startWebhookReceiver({ certificate, key }: TestCertificate): Promise<WebhookReceiver> {
  const arrivals: WebhookArrival[] = [];
  let verify: Verify = () => {
    throw new Error('It knows no secret yet.');
  };
  let answer: number | undefined;
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const arrival = readArrival(request, await buffer(request), verify);
    arrivals.push(arrival);
    arrival.status = answer ?? (arrival.verdict === 'accepted' ? 200 : 401);
    response.writeHead(arrival.status).end(answerText);
  };
  const server = createServer({ cert: certificate, key }, (request, response) => {
    // The sender may be gone.
    response.on('error', () => undefined);
    handle(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    arrivals,
    trust: (next) => void (verify = next),
    answer: (status) => void (answer = status),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function readArrival(request: IncomingMessage, body: Buffer, verify: Verify): WebhookArrival {
  const headers = request.headers as Record<string, string>;
  const received = { headers, rawHeaders: request.rawHeaders, body };
  const { data } = JSON.parse(body.toString()) as { data: { handle: string } };
  return {
    ...received,
    id: headers['webhook-id'] ?? headers['rullst-webhook-id'] ?? '',
    handle: data.handle,
    verdict: verdictOf(() => verify(received)),
  };
}

/** `accepted`, or the class of what was thrown. */
export function verdictOf(verify: () => unknown): string {
  try {
    verify();
    return 'accepted';
  } catch (error) {
    return error instanceof Error ? error.constructor.name : typeof error;
  }
}
