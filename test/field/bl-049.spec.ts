import { OutboundHttp, outcomeOf, type OutboundOutcome } from 'nest-deliveries/outbound-http';
import { answerOk, startReceiver, type Accepted, type Receiver } from '../outbound-http/receiver';

const TOTAL = 1000;
/** None of these receivers ever ends by itself, so this may be as long as a busy machine needs. */
const SLACK = 10_000;
const OK = 'HTTP/1.1 200 OK\r\n';

function drip({ socket }: Accepted, every: number, text: string): void {
  const timer = setInterval(() => socket.write(text), every);
  socket.once('close', () => clearInterval(timer));
}

function flood({ socket }: Accepted): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(`10000\r\n${'x'.repeat(65_536)}\r\n`));
    socket.once('drain', more);
  };
  more();
}

const hostile: Record<string, (connection: Accepted) => void> = {
  'accepts and says nothing': () => undefined,
  'drips its headers, a byte at a time': ({ socket }) => {
    const text = `${OK}x-long: ${'y'.repeat(1000)}`;
    let at = 0;
    const timer = setInterval(() => socket.write(text[at++] ?? 'y'), 200);
    socket.once('close', () => clearInterval(timer));
  },
  'sends headers at once and then drips a body for ever': (connection) => {
    connection.socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`);
    drip(connection, 500, '1\r\nx\r\n');
  },
  'never ends a chunked body, at full speed': (connection) => {
    connection.socket.write(`${OK}transfer-encoding: chunked\r\n\r\n`);
    flood(connection);
  },
  'says 100 Continue and then nothing': ({ socket }) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'),
  'sends 5 of the 10 bytes that it promised': ({ socket }) => socket.write(`${OK}content-length: 10\r\n\r\nhello`),
};

/** Documented rule: the status decides at the headers, so headers that came in time are a success. */
const expected: Record<string, OutboundOutcome> = {
  'accepts and says nothing': { type: 'retry', kind: 'timeout:response' },
  'drips its headers, a byte at a time': { type: 'retry', kind: 'timeout:response' },
  'sends headers at once and then drips a body for ever': { type: 'succeeded' },
  'never ends a chunked body, at full speed': { type: 'succeeded' },
  'says 100 Continue and then nothing': { type: 'retry', kind: 'connection-closed' },
  'sends 5 of the 10 bytes that it promised': { type: 'succeeded' },
};

describe('BL-049: the time limit covers the body, too', () => {
  let http: OutboundHttp;
  const receivers: Receiver[] = [];

  beforeAll(() => {
    http = new OutboundHttp({ testMode: true, timeout: TOTAL, connectTimeout: TOTAL });
  });

  afterAll(() => {
    http.close();
    for (const started of receivers) {
      started.close();
    }
  });

  async function receiver(onRequest: (connection: Accepted) => void): Promise<Receiver> {
    const started = await startReceiver(onRequest);
    receivers.push(started);
    return started;
  }

  it('ends every attempt in time, with the documented outcome and a closed socket', async () => {
    await Promise.all(
      Object.entries(hostile).map(async ([name, behaviour]) => {
        const target = await receiver(behaviour);
        const start = performance.now();
        const outcome = outcomeOf(await http.post(target.origin, { body: '{}' }));
        expect([name, outcome]).toEqual([name, expected[name]]);
        expect(performance.now() - start).toBeLessThan(TOTAL + SLACK);
        await Promise.all(target.accepted.map(({ closed }) => closed));
      }),
    );
  });

  it('holds up two workers no longer than that: twenty healthy receivers get theirs', async () => {
    const stuck = await receiver(hostile['sends headers at once and then drips a body for ever'] ?? answerOk);
    const silent = await receiver(() => undefined);
    const healthy = await receiver(answerOk);
    const queue = [stuck, silent, stuck, silent, ...Array.from({ length: 20 }, () => healthy)];
    const start = performance.now();
    const worker = async (): Promise<void> => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        await http.post(next.origin, { body: '{}' });
      }
    };
    await Promise.all([worker(), worker()]);
    expect(performance.now() - start).toBeLessThan(2 * (TOTAL + SLACK));
    const requests = healthy.accepted.reduce((sum, { received }) => sum + received.split('POST ').length - 1, 0);
    expect(requests).toBe(20);
  });
});
