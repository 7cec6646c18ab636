/** What a caller of the application's HTTP API gets. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Posts JSON to the application, as anybody would. */
export const post = (url: string, body: unknown): Promise<Answer> => call('POST', url, { body });

/** @param options.token of a session, or the operators' */
export async function call(
  method: string,
  url: string,
  { body, token }: { readonly body?: unknown; readonly token?: string } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const json = response.headers.get('content-type')?.includes('json');
  return { status: response.status, body: json ? await response.json() : await response.text() };
}

/** @throws Error for any status but 2xx */
export async function must<Body = unknown>(...request: Parameters<typeof call>): Promise<Body> {
  const { status, body } = await call(...request);
  if (status > 299) throw new Error(`${request[0]} ${request[1]} answered ${status}: ${JSON.stringify(body)}`);
  return body as Body;
}

/** @throws Error when it was not created */
export async function create(url: string, body: unknown): Promise<void> {
  const answer = await post(url, body);
  if (answer.status !== 201) throw new Error(`POST ${url} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
}
