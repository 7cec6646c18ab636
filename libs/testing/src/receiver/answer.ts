import type { ServerResponse } from 'node:http';
import type { ReceivedRequest } from './received-request';

/**
 * What a receiver does with one request: a status, or a whole response; `'hang'`: nothing, until the sender goes away; `'cut'`:
 * close the connection without a word; or a function that decides by the request, and may wait.
 */
export type Answer = number | AnswerScript | 'hang' | 'cut' | AnswerFunction;

export interface AnswerScript {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

type AnswerFunction = (
  request: ReceivedRequest,
) => Exclude<Answer, AnswerFunction> | Promise<Exclude<Answer, AnswerFunction>>;

/** Plays an answer. */
export async function play(answer: Answer, request: ReceivedRequest, response: ServerResponse): Promise<void> {
  const decided = typeof answer === 'function' ? await answer(request) : answer;
  if (decided === 'hang') return;
  if (decided === 'cut') {
    response.socket?.destroy();
    return;
  }
  const { status, headers = {}, body } = typeof decided === 'number' ? { status: decided } : decided;
  response.writeHead(status, headers).end(body);
}
