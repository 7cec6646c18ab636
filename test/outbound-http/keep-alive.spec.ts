import { OutboundHttp, scriptedResolver, type OutboundHttpOptions } from 'nest-deliveries/outbound-http';
import { answerOk, startReceiver, type Accepted, type Receiver } from './receiver';

describe('connections that are kept', () => {
  const cleanUps: (() => void)[] = [];

  afterEach(() => {
    for (const cleanUp of cleanUps.splice(0)) {
      cleanUp();
    }
  });

  async function receiver(onRequest: (connection: Accepted) => void = answerOk): Promise<Receiver> {
    const started = await startReceiver(onRequest);
    cleanUps.push(() => started.close());
    return started;
  }

  function client(keepAlive: OutboundHttpOptions['keepAlive'] = {}): OutboundHttp {
    const http = new OutboundHttp({ testMode: true, timeout: 10_000, keepAlive });
    cleanUps.push(() => http.close());
    return http;
  }

  it('serve one attempt after another, and one attempt at a time', async () => {
    const waiting: Accepted[] = [];
    const target = await receiver((connection) => {
      waiting.push(connection);
      if (waiting.length === 2) {
        waiting.splice(0).forEach((held) => answerOk(held));
      }
    });
    const http = client();
    for (let round = 0; round < 3; round++) {
      const results = await Promise.all([http.post(target.origin), http.post(target.origin)]);
      expect(results).toMatchObject([{ status: 200 }, { status: 200 }]);
    }
    expect(target.accepted).toHaveLength(2);
  });

  it('are not kept when the receiver closes, says so, or was not read to the end', async () => {
    const answers = [
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok',
      'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok',
      `HTTP/1.1 200 OK\r\ncontent-length: 70000\r\n\r\n${'x'.repeat(70_000)}`,
    ];
    for (const answer of answers) {
      const target = await receiver(({ socket }) => socket.write(answer));
      const http = client({ idleTimeout: '1h' });
      expect(await http.post(target.origin)).toMatchObject({ status: 200 });
      await target.accepted[0]?.closed;
      expect(await http.post(target.origin)).toMatchObject({ status: 200 });
      expect(target.accepted).toHaveLength(2);
    }
  });

  it('are replaced without an error when the receiver closed an idle one', async () => {
    const target = await receiver();
    const http = client();
    await http.post(target.origin);
    target.accepted[0]?.socket.end();
    await target.accepted[0]?.closed;
    expect(await http.post(target.origin)).toMatchObject({ status: 200 });
    expect(target.accepted).toHaveLength(2);
  });

  it('never hand the answer to one request out as the answer to the next', async () => {
    const planted = 'HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nplanted';
    const target = await receiver((connection) => {
      answerOk(connection, 'mine');
      connection.socket.write(planted);
    });
    const http = client();
    for (let round = 0; round < 3; round++) {
      const result = await http.post(target.origin);
      expect(result.type === 'responded' && result.body.toString()).toBe('mine');
    }
  });

  it('are closed after their idle time', async () => {
    const target = await receiver();
    await client({ idleTimeout: 50 }).post(target.origin);
    const start = performance.now();
    await target.accepted[0]?.closed;
    expect(performance.now() - start).toBeLessThan(3_000);
  });

  it('are not used past their age', async () => {
    const target = await receiver();
    const http = client({ maxAge: 20, idleTimeout: '1h' });
    await http.post(target.origin);
    const opened = performance.now();
    while (performance.now() - opened <= 21) {
      await new Promise(setImmediate);
    }
    await http.post(target.origin);
    await target.accepted[0]?.closed;
    expect(target.accepted).toHaveLength(2);
  });

  it('are bounded in number, over all receivers: the one idle longest goes', async () => {
    const targets = [await receiver(), await receiver(), await receiver()];
    const http = client({ maxIdle: 2, idleTimeout: '1h' });
    for (const target of targets) {
      await http.post(target.origin);
    }
    await targets[0]?.accepted[0]?.closed;
    await http.post(targets[1]?.origin ?? '');
    await http.post(targets[2]?.origin ?? '');
    expect(targets.map(({ accepted }) => accepted.length)).toEqual([1, 1, 1]);
    await http.post(targets[0]?.origin ?? '');
    expect(targets[0]?.accepted).toHaveLength(2);
  });

  it('can be none at all', async () => {
    const target = await receiver();
    const http = client({ maxIdle: 0, idleTimeout: '1h' });
    await http.post(target.origin);
    await target.accepted[0]?.closed;
    await http.post(target.origin);
    expect(target.accepted).toHaveLength(2);
  });

  it('are not shared by two names of one address', async () => {
    const target = await receiver(() => undefined);
    const resolver = scriptedResolver({ 'a.example.test': ['127.0.0.1'], 'b.example.test': ['127.0.0.1'] });
    const http = new OutboundHttp({ allow: ['127.0.0.1'], resolver, timeout: 300 });
    cleanUps.push(() => http.close());
    await Promise.all(['a', 'b'].map((name) => http.post(`https://${name}.example.test:${target.port}/`)));
    expect(target.accepted).toHaveLength(2);
  });

  it('are closed with the client, which still sends but keeps nothing any more', async () => {
    let release = (): void => undefined;
    let arrived = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    let requests = 0;
    const target = await receiver((connection) => {
      requests++;
      if (requests === 2) {
        release = () => answerOk(connection);
        arrived();
      } else {
        answerOk(connection);
      }
    });
    const http = client({ idleTimeout: '1h' });
    await Promise.all([
      http.post(target.origin),
      http.post(target.origin),
      held.then(() => http.close()).then(() => release()),
    ]);
    await Promise.all(target.accepted.map(({ closed }) => closed));
    expect(await http.post(target.origin)).toMatchObject({ status: 200 });
    await Promise.all(target.accepted.map(({ closed }) => closed));
    expect(target.accepted).toHaveLength(3);
  });
});
