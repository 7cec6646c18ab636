/** What a caller of the application's HTTP API gets. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Posts JSON to the application, as anybody would. */
export async function post(url: string, body: unknown): Promise<Answer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

/** @throws Error when it was not created */
export async function create(url: string, body: unknown): Promise<void> {
  const answer = await post(url, body);
  if (answer.status !== 201) throw new Error(`POST ${url} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
}
