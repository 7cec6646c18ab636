import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A request as it arrived. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** The exact bytes. */
  readonly body: Buffer;
  /** The body as text in UTF-8. */
  readonly text: string;
  /** @throws SyntaxError when the body is not JSON */
  json(): unknown;
}

export async function readRequest(message: IncomingMessage): Promise<ReceivedRequest> {
  const body = await buffer(message);
  const text = body.toString('utf8');
  return {
    method: message.method ?? '',
    path: message.url ?? '',
    headers: message.headers,
    body,
    text,
    json: () => JSON.parse(text) as unknown,
  };
}
