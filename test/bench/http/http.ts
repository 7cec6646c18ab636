import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { Agent, request } from 'undici';
import { OutboundHttp } from '../../../libs/outbound-http/src';
import { createTestCa } from '../../../src/demo/certificates';
import { ratio, rounded, takeTurns, type Line, type Measurement, type Part } from '../part';

const CONCURRENCY = 16;
const BODY = JSON.stringify({ text: 'x'.repeat(1000) });
const HEADERS = { 'content-type': 'application/json', 'webhook-id': 'msg_1' };
/** Requests a turn: a fraction of a second's worth. Many short turns, so that a busy spell of the machine meets both. */
const REUSED = 3000;
const NEW = 300;
const TURNS_A_ROUND = 5;

type Contenders = Line['contenders'];

/**
 * A delivery through OutboundHttp beside undici's own `request` to the same loopback receiver, which runs in a process
 * of its own: over connections kept alive, and over a new one each time.
 */
export const httpPart: Part = {
  name: 'http',
  about: 'OutboundHttp beside undici',
  async run(run) {
    const turns = { units: { rate: '/s' }, rounds: run.rounds(1, 5) * TURNS_A_ROUND, warmUp: true };
    const measure = async (what: string, contenders: Contenders): Promise<Measurement[]> => {
      // Dozens of turns of a moment each: one line when they are over.
      const rows = await takeTurns({ what, contenders, ...turns }, { progress: () => undefined });
      run.progress(`${what}: ${rows.map(({ contender, median }) => `${contender} ${rounded(median)} /s`).join(', ')}`);
      return rows;
    };
    const ca = await createTestCa();
    const { child, httpPort, httpsPort } = await startReceiver(await ca.issue({ hosts: ['127.0.0.1'] }));
    const measured: Measurement[] = [];
    try {
      for (const [scheme, port] of [
        ['http', httpPort],
        ['https', httpsPort],
      ] as const) {
        const url = `${scheme}://127.0.0.1:${port}/hook`;
        measured.push(
          ...(await measure(`${scheme}, kept alive`, reused(url, ca.certificate))),
          ...(await measure(`${scheme}, new connections`, fresh(url, ca.certificate))),
        );
      }
    } finally {
      child.disconnect();
    }
    const of = (what: string): number => ratio(measured, what, 'rate', 'OutboundHttp', 'undici');
    return {
      measured,
      ratios: {
        http_vs_undici: Math.min(of('http, kept alive'), of('https, kept alive')),
        http_vs_undici_plain: of('http, kept alive'),
        http_vs_undici_tls: of('https, kept alive'),
        http_new_vs_undici_plain: of('http, new connections'),
        http_new_vs_undici_tls: of('https, new connections'),
      },
    };
  },
};

/** undici at its best: one TLS context for all connections, instead of reading the authority anew for each. */
function undiciAgent(ca: string): Agent {
  return new Agent({ connections: CONCURRENCY, connect: { secureContext: createSecureContext({ ca }) } });
}

function reused(url: string, ca: string): Contenders {
  const agent = undiciAgent(ca);
  const client = new OutboundHttp({ testMode: { ca } });
  return {
    undici: () => perSecond(REUSED, () => plain(url, agent, false)),
    OutboundHttp: () => perSecond(REUSED, () => ours(url, client)),
  };
}

function fresh(url: string, ca: string): Contenders {
  const agent = undiciAgent(ca);
  const client = new OutboundHttp({ testMode: { ca }, keepAlive: { maxIdle: 0 } });
  return {
    undici: () => perSecond(NEW, () => plain(url, agent, true)),
    OutboundHttp: () => perSecond(NEW, () => ours(url, client)),
  };
}

async function plain(url: string, dispatcher: Agent, reset: boolean): Promise<number> {
  const response = await request(url, { dispatcher, method: 'POST', headers: HEADERS, body: BODY, reset });
  await response.body.text();
  return response.statusCode;
}

async function ours(url: string, client: OutboundHttp): Promise<number> {
  const result = await client.post(url, { headers: HEADERS, body: BODY });
  return result.type === 'responded' ? result.status : 0;
}

async function perSecond(requests: number, send: () => Promise<number>): Promise<{ rate: number }> {
  let left = requests;
  const start = performance.now();
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      const status = await send();
      if (status !== 200) {
        throw new Error(`a request of the bench ended with ${status}`);
      }
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, lane));
  return { rate: requests / ((performance.now() - start) / 1000) };
}

interface Receiver {
  child: ChildProcess;
  httpPort: number;
  httpsPort: number;
}

async function startReceiver(certificate: { certificate: string; key: string }): Promise<Receiver> {
  const child = fork(join(__dirname, 'receiver.js'));
  child.send(certificate);
  const [ports]: unknown[] = await once(child, 'message');
  if (typeof ports === 'object' && ports && 'httpPort' in ports && 'httpsPort' in ports) {
    return { child, httpPort: Number(ports.httpPort), httpsPort: Number(ports.httpsPort) };
  }
  throw new Error('the receiver of the bench did not start');
}
