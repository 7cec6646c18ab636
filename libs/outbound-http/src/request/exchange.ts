import type { Dispatcher } from 'undici';
import type { Connection } from './connection';
import { UncheckedRemoteError } from './connector';
import type { Deadline } from './deadline';
import { failureKind } from './failure-kind';
import { readBody } from './read-body';
import type { OutboundRequest } from './read-request';
import type { OutboundResult } from './result';

/** How an exchange ended, and whether the answer was read to its end, which leaves the connection fit for another. */
export interface Exchanged {
  result: OutboundResult;
  complete: boolean;
}

/** Sends the request on the connection and reads the answer, until the deadline at the latest. */
export function exchange(
  connection: Connection,
  path: string,
  { method, headers, body }: OutboundRequest,
  deadline: Deadline,
  ignoreBody: boolean,
): Promise<Exchanged> {
  return new Promise((resolve) => {
    deadline.onStop((stopped) => resolve({ result: stopped, complete: false }));
    const options: Dispatcher.RequestOptions = { path, method, headers, body: body ?? null };
    connection.client.request(options, (error, answer) => {
      if (error) {
        resolve({ result: failure(error), complete: false });
        return;
      }
      if (deadline.stopped) {
        answer.body.on('error', () => undefined).destroy();
        return;
      }
      const { statusCode: status, headers: received } = answer;
      if (ignoreBody && status !== 204 && received['content-length'] !== '0') {
        answer.body.on('error', () => undefined).destroy();
        const nothing = { body: Buffer.alloc(0), truncated: true };
        resolve({ result: { type: 'responded', status, headers: received, ...nothing }, complete: false });
        return;
      }
      readBody(answer.body, deadline, (read, complete) => {
        resolve({
          result: {
            type: 'responded',
            status,
            headers: received,
            body: read,
            truncated: !complete,
          },
          complete,
        });
      });
    });
  });
}

function failure(error: unknown): OutboundResult {
  return error instanceof UncheckedRemoteError
    ? { type: 'refused', reason: 'unchecked-remote-address' }
    : { type: 'unreachable', kind: failureKind(error) };
}
