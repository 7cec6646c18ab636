import { createServer, type Server } from 'node:net';
import { OutboundHttp, outcomeOf, scriptedResolver } from 'nest-deliveries/outbound-http';
import { createTestCa } from '../../src/demo/certificates';
import { listen } from '../outbound-http/listen';
import { startReceiver, type Receiver } from '../outbound-http/receiver';

const NAME = 'receiver.example.test';

describe('BL-058: a redirect is an answer, not an instruction', () => {
  let canary: Server;
  let canaryPort: number;
  let strays = 0;
  let target: Receiver;
  let http: OutboundHttp;
  let answer = '';
  const resolver = scriptedResolver({ [NAME]: ['127.0.0.1'], 'other.example.test': ['127.0.0.1'] });

  beforeAll(async () => {
    canary = createServer((socket) => {
      strays++;
      socket.destroy();
    });
    canaryPort = await listen(canary);
    const ca = await createTestCa();
    target = await startReceiver(({ socket }) => socket.write(answer), { tls: await ca.issue({ hosts: [NAME] }) });
    http = new OutboundHttp({ resolver, allow: ['127.0.0.1/32'], testMode: { ca: ca.certificate }, timeout: 10_000 });
  });

  afterAll(() => {
    http.close();
    target.close();
    canary.close();
  });

  const statuses = [301, 302, 303, 307, 308];
  const locations: Record<string, () => string> = {
    'the canary': () => `http://127.0.0.1:${canaryPort}/`,
    'plain HTTP on the same host': () => `http://${NAME}:${canaryPort}/`,
    'another public host': () => `https://other.example.test:${canaryPort}/`,
    itself: () => `https://${NAME}:${target.port}/hook`,
    'a relative path': () => '../elsewhere',
    'the canary without a scheme': () => `//127.0.0.1:${canaryPort}/`,
  };

  it.each(Object.keys(locations))('is not followed to %s, by any of the five codes', async (where) => {
    const location = locations[where]?.() ?? '';
    for (const status of statuses) {
      target.accepted.forEach((connection) => {
        connection.received = '';
      });
      answer = [
        `HTTP/1.1 ${status} Moved`,
        `location: ${location}`,
        `refresh: 0;url=${location}`,
        `alt-svc: h3=":${canaryPort}", h2="127.0.0.1:${canaryPort}"`,
        `content-location: ${location}`,
        'connection: close',
        'content-length: 0\r\n\r\n',
      ].join('\r\n');
      resolver.asked.length = 0;
      const before = target.accepted.length;
      const result = await http.post(`https://${NAME}:${target.port}/hook`, {
        headers: { authorization: 'Bearer secret', 'webhook-signature': 'v1,secret' },
        body: '{"secret":true}',
      });
      expect(outcomeOf(result)).toEqual({ type: 'failed', kind: String(status) });
      expect(resolver.asked).toEqual([NAME]);
      expect(target.accepted.length - before).toBe(1);
    }
    expect(strays).toBe(0);
  });
});
