import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { until } from '../../faults/support/facts';
import { createTestDatabase } from '../../support/test-database';
import { endOf, type TsChildEnd } from '../../support/ts-child';

/** What somebody sees who starts an application, looks at it once a message has arrived, and ends it. */
export interface Seen {
  readonly arrived: readonly unknown[];
  /** Status and body of what was asked for, by path. */
  readonly answers: Readonly<Record<string, { readonly status: number; readonly body: string }>>;
  /** Who is not let in. */
  readonly withoutToken: number;
  readonly end: TsChildEnd;
}

/** What every application has to show. */
export const whatIsSeen = {
  arrived: [{ accountId: expect.any(String) as string }],
  answers: {
    '/admin/deliveries': { status: 200, body: expect.stringContaining('<title>') as string },
    '/admin/deliveries/api/deliveries': { status: 200, body: expect.stringContaining('"channel":"welcome"') as string },
    '/health/live': { status: 200 },
    '/health/ready': { status: 200 },
    '/metrics': { status: 200 },
  },
  withoutToken: 403,
  end: { code: 0, stderr: '' },
};

const operator = { authorization: 'Bearer of the token' };
const paths = ['/admin/deliveries', '/admin/deliveries/api/deliveries', '/health/live', '/health/ready'] as const;

/** @param node the Node that it runs under */
export async function useApplication(folder: string, node = process.execPath): Promise<Seen> {
  const arrived: unknown[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    arrived.push(JSON.parse(await textOf(request)));
    response.writeHead(204).end();
  };
  const receiver = createServer((request, response) => void receive(request, response)).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const database = await createTestDatabase({ empty: true });
  const child = spawn(node, [join(folder, 'dist/main.js')], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: database.url,
      CRM_URL: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const ended = endOf(child);
  try {
    const up = once(child, 'message') as Promise<[{ url: string }]>;
    const failed = ended.then((end) => Promise.reject(new Error(`It ended early: ${JSON.stringify(end)}`)));
    const [{ url }] = await Promise.race([up, failed]);
    failed.catch(() => undefined);
    const ask = async (path: string, headers: Record<string, string> = operator): Promise<Seen['answers'][string]> => {
      const response = await fetch(url + path, { headers });
      return { status: response.status, body: await response.text() };
    };
    const metrics = await until('a success is counted', async () => {
      const answer = await ask('/metrics');
      return answer.body.includes('deliveries_attempts_total{channel="welcome",outcome="succeeded"} 1') && answer;
    });
    const answers = await Promise.all(paths.map(async (path) => [path, await ask(path)] as const));
    const withoutToken = (await ask(paths[0], {})).status;
    child.kill('SIGTERM');
    return {
      arrived,
      answers: { '/metrics': metrics, ...Object.fromEntries(answers) },
      withoutToken,
      end: await ended,
    };
  } finally {
    child.kill('SIGKILL');
    receiver.close();
    await database.drop();
  }
}
