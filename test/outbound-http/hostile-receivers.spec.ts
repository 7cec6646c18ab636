import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { createServer, type Socket } from 'node:net';
import { OutboundHttp, outcomeOf, type OutboundResult } from 'nest-deliveries/outbound-http';
import { createTestCa, type TestCa } from '../../src/demo/certificates';
import { withEnvironment } from './environment';
import { listen } from './listen';
import { startReceiver, type Accepted, type Receiver, type ReceiverOptions } from './receiver';

const TOTAL = 600;
const CONNECT = 300;
/** What an attempt may take on top of its time: as long as a busy machine needs, since no receiver here ends by itself. */
const SLACK = 5_000;
const HEAD = 'HTTP/1.1 200 OK\r\n';

describe('whatever a receiver does, an attempt ends in time, with the right result and a closed socket', () => {
  let ca: TestCa;
  let http: OutboundHttp;
  const receivers: Receiver[] = [];

  beforeAll(async () => {
    ca = await createTestCa();
    http = new OutboundHttp({ testMode: { ca: ca.certificate }, timeout: TOTAL, connectTimeout: CONNECT });
  });

  afterEach(() => {
    for (const started of receivers.splice(0)) {
      started.close();
    }
  });

  afterAll(() => http.close());

  async function receiver(onRequest: (connection: Accepted) => void, options?: ReceiverOptions): Promise<Receiver> {
    const started = await startReceiver(onRequest, options);
    receivers.push(started);
    return started;
  }

  async function timed(url: string): Promise<{ result: OutboundResult; took: number }> {
    const start = performance.now();
    const result = await http.post(url, { body: '{}' });
    return { result, took: performance.now() - start };
  }

  /** Sends one request and waits until the receiver has seen each of its connections close. */
  async function attempt(onRequest: (connection: Accepted) => void): Promise<OutboundResult> {
    const target = await receiver(onRequest);
    const { result, took } = await timed(target.origin);
    expect(took).toBeLessThan(TOTAL + SLACK);
    expect(target.accepted).toHaveLength(1);
    await Promise.all(target.accepted.map(({ closed }) => closed));
    return result;
  }

  /** Writes again and again until the socket is gone. */
  function drip({ socket }: Accepted, every: number, text: string): void {
    const timer = setInterval(() => socket.write(text), every);
    socket.once('close', () => clearInterval(timer));
  }

  describe('silent and slow', () => {
    it('takes the connection and says nothing', async () => {
      expect(await attempt(() => undefined)).toEqual({ type: 'timedOut', phase: 'response' });
    });

    it('takes a TLS connection and never shakes hands', async () => {
      const target = await receiver(() => undefined);
      const { result, took } = await timed(`https://127.0.0.1:${target.port}/`);
      expect(result).toEqual({ type: 'timedOut', phase: 'connect' });
      expect(took).toBeLessThan(CONNECT + SLACK);
      await target.accepted[0]?.closed;
    });

    it('drips headers', async () => {
      const result = await attempt((connection) => {
        connection.socket.write(HEAD);
        drip(connection, 50, 'x-more: y\r\n');
      });
      expect(result).toEqual({ type: 'timedOut', phase: 'response' });
    });

    it('drips a body: the status has decided already', async () => {
      const result = await attempt((connection) => {
        connection.socket.write(`${HEAD}content-length: 1000000\r\n\r\n`);
        drip(connection, 50, 'x');
      });
      expect(result).toMatchObject({ type: 'responded', status: 200, truncated: true });
      expect(result.type === 'responded' && result.body.toString()).toMatch(/^x{1,20}$/);
      expect(outcomeOf(result)).toEqual({ type: 'succeeded' });
    });

    it("drips an error's body: the status has decided that, too", async () => {
      const result = await attempt((connection) => {
        connection.socket.write('HTTP/1.1 503 Busy\r\nretry-after: 7\r\ntransfer-encoding: chunked\r\n\r\n');
        drip(connection, 50, '1\r\nx\r\n');
      });
      expect(outcomeOf(result)).toEqual({ type: 'retry', kind: '503', retryAfter: '7' });
    });

    it('sends early hints for ever and no answer', async () => {
      const result = await attempt((connection) =>
        drip(connection, 50, 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'),
      );
      expect(result).toEqual({ type: 'timedOut', phase: 'response' });
    });

    it('answers 100 and then nothing', async () => {
      const result = await attempt(({ socket }) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'));
      expect(outcomeOf(result)).toEqual({ type: 'retry', kind: 'connection-closed' });
    });
  });

  describe('endless and large', () => {
    /** Writes as fast as the client takes it and tells how much was taken in. */
    function flood(socket: Socket, chunk: Buffer, times: number): Promise<number> {
      return new Promise((resolve) => {
        let written = 0;
        const more = (): void => {
          while (written < times && !socket.destroyed) {
            written++;
            if (!socket.write(chunk)) {
              socket.once('drain', more);
              return;
            }
          }
        };
        socket.once('close', () => resolve(written * chunk.length));
        more();
      });
    }

    const MEGABYTE = Buffer.alloc(1024 * 1024, 'x');

    it('never ends a chunked body', async () => {
      const result = await attempt(({ socket }) => {
        socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`);
        void flood(socket, Buffer.from(`100000\r\n${MEGABYTE.toString('latin1')}\r\n`), 100_000);
      });
      expect(result).toMatchObject({ type: 'responded', status: 200, truncated: true });
      expect(result.type === 'responded' && result.body).toHaveLength(64 * 1024);
    });

    it('offers 1 GB: 64 KiB are read and memory hardly grows', async () => {
      let offered: Promise<number> | undefined;
      const before = process.memoryUsage().rss;
      const result = await attempt(({ socket }) => {
        socket.write(`${HEAD}content-length: ${1024 ** 3}\r\n\r\n`);
        offered = flood(socket, MEGABYTE, 1024);
      });
      expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 ** 2);
      expect(result).toMatchObject({ type: 'responded', truncated: true });
      expect(result.type === 'responded' && result.body).toHaveLength(64 * 1024);
      // What the kernel's buffers took in, and far from what was on offer.
      expect(await offered).toBeLessThan(64 * 1024 ** 2);
    });

    it('sends a gzip bomb: it is never unpacked', async () => {
      const bomb = gzipSync(Buffer.alloc(50 * 1024 ** 2));
      const before = process.memoryUsage().rss;
      const target = await receiver(({ socket }) => {
        socket.write(`${HEAD}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`);
        socket.write(bomb);
      });
      const { result } = await timed(target.origin);
      expect(result.type === 'responded' && result.body.equals(bomb.subarray(0, 64 * 1024))).toBe(true);
      expect(process.memoryUsage().rss - before).toBeLessThan(50 * 1024 ** 2);
    });

    it('sends headers without end', async () => {
      const result = await attempt(({ socket }) => {
        socket.write(HEAD);
        void flood(socket, Buffer.from(`x-filler: ${'y'.repeat(1000)}\r\n`), 100_000);
      });
      expect(result).toEqual({ type: 'unreachable', kind: 'UND_ERR_HEADERS_OVERFLOW' });
    });

    it.each([
      [64 * 1024 - 1, false],
      [64 * 1024, false],
      [64 * 1024 + 1, true],
    ])('sends a body of %i bytes: truncated is %s', async (length, truncated) => {
      const target = await receiver(({ socket }) => {
        socket.write(`${HEAD}content-length: ${length}\r\n\r\n`);
        socket.write(Buffer.alloc(length, 'x'));
      });
      const { result } = await timed(target.origin);
      expect(result).toMatchObject({ type: 'responded', truncated });
      expect(result.type === 'responded' && result.body).toHaveLength(Math.min(length, 64 * 1024));
    });
  });

  describe('broken off', () => {
    it('sends 5 of 10 promised bytes and ends', async () => {
      const result = await attempt(({ socket }) => socket.end(`${HEAD}content-length: 10\r\n\r\nhello`));
      expect(result).toMatchObject({ type: 'responded', status: 200, truncated: true, body: Buffer.from('hello') });
    });

    it('sends 5 of 10 promised bytes and waits', async () => {
      const result = await attempt(({ socket }) => socket.write(`${HEAD}content-length: 10\r\n\r\nhello`));
      expect(result).toMatchObject({ type: 'responded', status: 200, truncated: true, body: Buffer.from('hello') });
    });

    it('refuses the connection', async () => {
      const server = createServer();
      const port = await listen(server);
      server.close();
      await once(server, 'close');
      expect((await timed(`http://127.0.0.1:${port}/`)).result).toEqual({ type: 'unreachable', kind: 'ECONNREFUSED' });
    });

    it('resets as soon as it has accepted', async () => {
      const server = createServer((socket) => socket.resetAndDestroy());
      const port = await listen(server);
      const { result } = await timed(`https://127.0.0.1:${port}/`);
      expect(result).toEqual({ type: 'unreachable', kind: 'ECONNRESET' });
      server.close();
    });

    it('resets when the request has come', async () => {
      expect(await attempt(({ socket }) => socket.resetAndDestroy())).toEqual({
        type: 'unreachable',
        kind: 'ECONNRESET',
      });
    });

    it('ends when the request has come', async () => {
      const result = await attempt(({ socket }) => socket.end());
      expect(result).toEqual({ type: 'unreachable', kind: 'connection-closed' });
    });

    it.each(['end', 'destroy'] as const)('shakes hands, takes the request, and closes by %s', async (how) => {
      const target = await receiver(({ socket }) => socket[how](), { tls: await ca.issue({ hosts: ['127.0.0.1'] }) });
      const { result } = await timed(target.origin);
      expect(result).toEqual({ type: 'unreachable', kind: 'connection-closed' });
      await target.accepted[0]?.closed;
    });

    it('resets within the headers', async () => {
      const result = await attempt(({ socket }) => socket.write(`${HEAD}x-a: b\r\n`, () => socket.resetAndDestroy()));
      // Which of the two depends on whether the reset overtakes the bytes before it.
      expect(result).toEqual({ type: 'unreachable', kind: expect.stringMatching(/^(ECONNRESET|connection-closed)$/) });
    });

    it('resets within the body', async () => {
      const result = await attempt(({ socket }) => {
        socket.write(`${HEAD}content-length: 10\r\n\r\nhello`, () => setTimeout(() => socket.resetAndDestroy(), 50));
      });
      expect(result).toMatchObject({ type: 'responded', status: 200, truncated: true });
    });

    it.each([
      ['no HTTP at all', 'SSH-2.0-OpenSSH_9.6\r\n\r\n'],
      ['two lengths', `${HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\nhello!`],
      ['a length and chunks', `${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
      [
        'a switch of protocols',
        'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
      ],
    ])('sends %s', async (_what, text) => {
      const result = await attempt(({ socket }) => socket.write(text));
      expect(result.type).toBe('unreachable');
      expect(outcomeOf(result).type).toBe('retry');
    });

    it('sends headers with the names of object members', async () => {
      const result = await attempt(({ socket }) =>
        socket.end(
          `${HEAD}__proto__: a\r\n__proto__: b\r\nconstructor: c\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`,
        ),
      );
      expect(result).toMatchObject({ type: 'responded', status: 200 });
      expect(Object.getPrototypeOf(result.type === 'responded' && result.headers)).toBe(Object.prototype);
    });
  });

  describe('with the wrong certificate', () => {
    async function kindOf(
      tls: { certificate: string; key: string },
      url = (port: number) => `https://127.0.0.1:${port}/`,
    ) {
      const target = await receiver(() => undefined, { tls });
      const { result, took } = await timed(url(target.port));
      expect(took).toBeLessThan(TOTAL + SLACK);
      // Nothing was sent: no request ever arrived.
      expect(target.accepted.map(({ received }) => received).join('')).toBe('');
      expect(outcomeOf(result).type).toBe('retry');
      return result;
    }

    it('from an authority nobody knows', async () => {
      const stranger = await createTestCa();
      const result = await kindOf(await stranger.issue({ hosts: ['127.0.0.1'] }));
      expect(result).toEqual({ type: 'unreachable', kind: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
    });

    it('that has expired', async () => {
      const yesterday = new Date(Date.now() - 24 * 3600_000);
      const result = await kindOf(await ca.issue({ hosts: ['127.0.0.1'], notAfter: yesterday, notBefore: yesterday }));
      expect(result).toEqual({ type: 'unreachable', kind: 'CERT_HAS_EXPIRED' });
    });

    it('of another host', async () => {
      const result = await kindOf(await ca.issue({ hosts: ['127.0.0.2', 'localhost'] }));
      expect(result).toEqual({ type: 'unreachable', kind: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    });

    it('even where the environment switches verification off for the process', async () => {
      const stranger = await createTestCa();
      const tls = await stranger.issue({ hosts: ['127.0.0.1'] });
      const result = await withEnvironment({ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, async () => await kindOf(tls));
      expect(result).toEqual({ type: 'unreachable', kind: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' });
    });
  });

  it('leaves no timer and no listener behind on the signal of the caller', async () => {
    const target = await receiver(({ socket }) => socket.end(`${HEAD}content-length: 0\r\n\r\n`));
    const controller = new AbortController();
    const listeners: string[] = [];
    const { signal } = controller;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    jest.spyOn(signal, 'addEventListener').mockImplementation((...call: Parameters<typeof add>) => {
      listeners.push(`+${call[0]}`);
      add(...call);
    });
    jest.spyOn(signal, 'removeEventListener').mockImplementation((...call: Parameters<typeof remove>) => {
      listeners.push(`-${call[0]}`);
      remove(...call);
    });
    await http.post(target.origin, { signal });
    expect(listeners).toEqual(['+abort', '-abort']);
  });

  it('ends at once when the caller aborts, before and while waiting', async () => {
    const controller = new AbortController();
    const target = await receiver(() => controller.abort());
    const aborted = { type: 'unreachable', kind: 'aborted' };
    expect(await http.post(target.origin, { signal: controller.signal, timeout: '1h' })).toEqual(aborted);
    await target.accepted[0]?.closed;
    expect(await http.post(target.origin, { signal: controller.signal })).toEqual(aborted);
    expect(target.accepted).toHaveLength(1);
  });

  it('reads nothing of a body that nobody wants, and keeps the connection only where there is none', async () => {
    let answers = 0;
    const target = await receiver(({ socket }) => {
      answers += 1;
      // First one without a body, then one that never ends.
      socket.write(answers === 1 ? `${HEAD}content-length: 0\r\n\r\n` : `${HEAD}content-length: 9999999\r\n\r\nnoise`);
    });
    const options = { body: '{}', ignoreBody: true };
    const empty = { type: 'responded', status: 200, body: Buffer.alloc(0), truncated: false };
    expect(await http.post(target.origin, options)).toMatchObject(empty);
    expect(await http.post(target.origin, options)).toMatchObject({ ...empty, truncated: true });
    expect(target.accepted).toHaveLength(1);
    await target.accepted[0]?.closed;
  });
});
