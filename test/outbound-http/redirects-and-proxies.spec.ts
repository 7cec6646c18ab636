import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { EnvHttpProxyAgent, getGlobalDispatcher, request, setGlobalDispatcher } from 'undici';
import { InvalidRequestError, OutboundHttp, outcomeOf } from 'nest-deliveries/outbound-http';
import { withEnvironment } from './environment';
import { listen } from './listen';
import { answerOk, startReceiver, type Receiver } from './receiver';

describe('a request goes to the destination and nowhere else', () => {
  let http: OutboundHttp;
  let canary: Server;
  let canaryPort: number;
  let strays = 0;
  let target: Receiver | undefined;

  beforeAll(async () => {
    http = new OutboundHttp({ testMode: true, timeout: 10_000 });
    canary = createServer((socket) => {
      strays++;
      socket.destroy();
    });
    canaryPort = await listen(canary);
  });

  afterEach(() => {
    target?.close();
    target = undefined;
  });

  afterAll(() => {
    http.close();
    canary.close();
  });

  describe.each([301, 302, 303, 307, 308])('redirected with %i', (status) => {
    it.each([
      ['to a loopback address', () => `http://127.0.0.1:${canaryPort}/`],
      ['to a loopback address, with credentials', () => `https://user:secret@127.0.0.1:${canaryPort}/`],
      ['to a loopback address without a scheme', () => `//127.0.0.1:${canaryPort}/`],
      ['to another host', () => 'https://other.example.test/'],
      ['to itself', (port: number) => `http://127.0.0.1:${port}/`],
      ['to a path', () => '/elsewhere'],
    ])('%s', async (_where, location) => {
      const { port, accepted } = (target = await startReceiver(({ socket }) => {
        const headers = [`location: ${location(port)}`, `refresh: 0;url=${location(port)}`, 'content-length: 0'];
        socket.write(`HTTP/1.1 ${status} Moved\r\n${headers.join('\r\n')}\r\n\r\n`);
      }));
      const result = await http.post(`http://127.0.0.1:${port}/hook`, {
        headers: { authorization: 'Bearer secret' },
        body: '{}',
      });
      expect(result).toMatchObject({ type: 'responded', status });
      // The status and nothing that the receiver wrote: a location is the receiver's text.
      expect(outcomeOf(result)).toEqual({ type: 'failed', kind: String(status) });
      expect(strays).toBe(0);
      expect(accepted).toHaveLength(1);
      expect(accepted[0]?.received.match(/POST/g)).toHaveLength(1);
    });
  });

  it('whatever proxies the environment names', async () => {
    let caught = 0;
    const trap = createServer((socket) => {
      caught++;
      socket.destroy();
    });
    const proxy = `http://127.0.0.1:${await listen(trap)}`;
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY'];
    const variables = Object.fromEntries(names.map((name) => [name, proxy]));
    target = await startReceiver(answerOk);
    const url = `${target.origin}/hook`;
    await withEnvironment(
      { ...variables, NODE_USE_ENV_PROXY: '1', NO_PROXY: undefined, no_proxy: undefined },
      async () => {
        const dispatcher = getGlobalDispatcher();
        // What NODE_USE_ENV_PROXY does at the start of newer versions of Node.
        const agent = new EnvHttpProxyAgent();
        setGlobalDispatcher(agent);
        const fresh = new OutboundHttp({ testMode: true, timeout: 10_000 });
        try {
          expect(await fresh.post(url)).toMatchObject({ type: 'responded', status: 200 });
          expect((await fresh.post('https://127.0.0.1:1/')).type).toBe('unreachable');
          expect(caught).toBe(0);
          // The trap is a real one: who does not keep away from it is caught.
          request(url).catch(() => undefined);
          await once(trap, 'connection');
        } finally {
          fresh.close();
          setGlobalDispatcher(dispatcher);
          void agent.destroy();
          trap.close();
        }
      },
    );
    expect(target.accepted[0]?.received).toMatch(/^POST \/hook HTTP/);
    expect(target.accepted).toHaveLength(1);
  });
});

describe('what only the caller can mend', () => {
  let target: Receiver;
  let http: OutboundHttp;

  beforeAll(async () => {
    target = await startReceiver(answerOk);
    http = new OutboundHttp({ testMode: true });
  });

  afterAll(() => {
    http.close();
    target.close();
  });

  it.each([
    [{ Host: 'internal.example.test' }, 'FORBIDDEN_HEADER'],
    [{ host: 'x' }, 'FORBIDDEN_HEADER'],
    [{ 'Content-Length': '0' }, 'FORBIDDEN_HEADER'],
    [{ 'transfer-encoding': 'chunked' }, 'FORBIDDEN_HEADER'],
    [{ connection: 'close' }, 'FORBIDDEN_HEADER'],
    [{ 'Proxy-Authorization': 'Basic eDp5' }, 'FORBIDDEN_HEADER'],
    [{ Expect: '100-continue' }, 'FORBIDDEN_HEADER'],
    [{ 'x-a': 'b\r\nx-injected: c' }, 'INVALID_HEADER'],
    [{ 'x-a': 'b\n' }, 'INVALID_HEADER'],
    [{ 'x-a': 'b\0' }, 'INVALID_HEADER'],
    [{ 'x-a': 'grün' }, 'INVALID_HEADER'],
    [{ 'x-a\r\nx-b': 'c' }, 'INVALID_HEADER'],
    [{ 'x a': 'c' }, 'INVALID_HEADER'],
    [{ '': 'c' }, 'INVALID_HEADER'],
    [{ ':path': '/' }, 'INVALID_HEADER'],
    [{ 'X-A': 'b', 'x-a': 'c' }, 'INVALID_HEADER'],
  ])('is refused with a clear error, and nothing is sent: %j', async (headers, code) => {
    const sent = http.post(target.origin, { headers, body: '{}' });
    await expect(sent).rejects.toThrow(InvalidRequestError);
    await expect(sent).rejects.toMatchObject({ code, message: expect.stringMatching(/^Cannot send: .*; .+\.$/) });
    expect(target.accepted).toHaveLength(0);
  });

  it('never repeats a header value, which may be a secret', async () => {
    await expect(http.post(target.origin, { headers: { authorization: 'Bearer sësame' } })).rejects.toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('same') }),
    );
  });

  it('is refused: methods, bodies and time limits that make no sense', async () => {
    const send = http.request.bind(http, target.origin);
    // @ts-expect-error: not a method of this client
    await expect(send({ method: 'CONNECT' })).rejects.toMatchObject({ code: 'INVALID_METHOD' });
    // @ts-expect-error: not serialized
    await expect(send({ method: 'POST', body: { a: 1 } })).rejects.toMatchObject({ code: 'INVALID_BODY' });
    // @ts-expect-error: no such profile
    await expect(send({ method: 'POST', profile: 'lax' })).rejects.toMatchObject({ code: 'INVALID_PROFILE' });
    await expect(send({ method: 'POST', timeout: 0 })).rejects.toMatchObject({ code: 'INVALID_TIMEOUT' });
    await expect(send({ method: 'POST', connectTimeout: '2h' })).rejects.toMatchObject({ code: 'INVALID_TIMEOUT' });
    expect(target.accepted).toHaveLength(0);
  });

  it('is sent as it was given where it is right', async () => {
    const headers = { 'Webhook-Signature': 'v1,abc=', 'x-tab': 'a\tb', 'content-type': 'application/json' };
    expect(await http.post(`${target.origin}/a?b=c`, { headers, body: Buffer.from('{"ü":1}') })).toMatchObject({
      status: 200,
    });
    const received = target.accepted[0]?.received ?? '';
    expect(received).toContain('Webhook-Signature: v1,abc=\r\n');
    expect(received).toContain('x-tab: a\tb\r\n');
    expect(received).toContain('content-length: 8\r\n');
    expect(received).not.toMatch(/accept-encoding/i);
    expect(received).toMatch(/\r\n\r\n\{"Ã¼":1\}$/);
  });
});
