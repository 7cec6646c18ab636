import { createServer, type Server } from 'node:net';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { OutboundHttp, outcomeOf } from 'nest-deliveries/outbound-http';
import { listenEverywhere } from '../outbound-http/listen';

describe('BL-056: literals get the same check as names', () => {
  let canary: Server;
  let port: number;
  let accepted = 0;
  let dialled = 0;
  const onSocket = (): void => {
    dialled++;
  };

  beforeAll(async () => {
    canary = createServer((socket) => {
      accepted++;
      socket.destroy();
    });
    port = await listenEverywhere(canary);
    subscribe('net.client.socket', onSocket);
  });

  afterAll(() => {
    unsubscribe('net.client.socket', onSocket);
    canary.close();
  });

  const hosts = [
    '127.0.0.1',
    '127.1',
    '0177.0.0.1',
    '2130706433',
    '0x7f.1',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '169.254.169.254',
    '10.0.0.5',
    '172.31.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '224.0.0.1',
    '255.255.255.255',
    'LOCALHOST.',
    'localhost',
    'localhost%00.example.test',
    '１２７.０.０.１',
  ];

  it.each(hosts)('never connects to %s, and says so when it is configured and when it is sent', async (host) => {
    const http = new OutboundHttp({ resolver: async () => ['127.0.0.1'] });
    for (const scheme of ['http', 'https']) {
      const url = `${scheme}://${host}:${port}/`;
      expect(http.checkDestination(url).allowed).toBe(false);
      const result = await http.post(url, { body: '{}' });
      expect(result.type).toBe('refused');
      expect(outcomeOf(result)).toMatchObject({ type: 'failed', kind: expect.stringMatching(/^refused:/) });
    }
    expect([dialled, accepted]).toEqual([0, 0]);
  });

  it('lets public literals pass', () => {
    const http = new OutboundHttp();
    for (const host of ['93.184.216.34', '[2606:4700:4700::1111]']) {
      expect(http.checkDestination(`https://${host}/`)).toEqual({ allowed: true });
    }
  });
});
