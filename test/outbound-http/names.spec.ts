import { Resolver } from 'node:dns/promises';
import { TLSSocket } from 'node:tls';
import { dnsResolver, OutboundHttp, scriptedResolver, type OutboundHttpOptions } from 'nest-deliveries/outbound-http';
import { createTestCa, type TestCa } from '../../src/demo/certificates';
import { startBlackHole } from './black-hole';
import { startDnsServer, type Answers } from './dns-server';
import { answerOk, startReceiver, type Accepted, type Receiver } from './receiver';

const NAME = 'receiver.example.test';
const GOOD = '127.0.0.1';
/** Not allowed by the tests' range, and where a second receiver listens: whoever reaches it broke the rule. */
const BAD = '127.0.0.66';

describe('names', () => {
  let ca: TestCa;
  let tls: { certificate: string; key: string };
  const cleanUps: (() => void)[] = [];

  beforeAll(async () => {
    ca = await createTestCa();
    tls = await ca.issue({ hosts: [NAME] });
  });

  afterEach(() => {
    jest.restoreAllMocks();
    for (const cleanUp of cleanUps.splice(0)) {
      cleanUp();
    }
  });

  function client(options: OutboundHttpOptions): OutboundHttp {
    const http = new OutboundHttp({
      testMode: { ca: ca.certificate },
      allow: ['127.0.0.0/29', 'fd00:dead::/32'],
      timeout: 10_000,
      ...options,
    });
    cleanUps.push(() => http.close());
    return http;
  }

  async function receiver(
    host = GOOD,
    port = 0,
    onRequest: (accepted: Accepted) => void = answerOk,
  ): Promise<Receiver> {
    const started = await startReceiver(onRequest, { tls, host, port });
    cleanUps.push(() => started.close());
    return started;
  }

  it('are known before the caller is asked whether it still wants to send; a no leaves the receiver alone', async () => {
    const target = await receiver();
    const resolver = scriptedResolver({ [NAME]: [GOOD] });
    const http = client({ resolver });
    const seen: unknown[] = [];
    const ask = (answer: boolean) => async (): Promise<boolean> => {
      seen.push(resolver.asked.length, target.accepted.length);
      return Promise.resolve(answer);
    };
    const url = `https://${NAME}:${target.port}/`;
    const withdrawn = { type: 'unreachable', kind: 'withdrawn' };
    expect(await http.post(url, { beforeConnect: ask(false) })).toEqual(withdrawn);
    const failing = http.post(url, { beforeConnect: () => Promise.reject(new Error('no answer')) });
    await expect(failing).rejects.toThrow('no answer');
    expect(target.accepted).toHaveLength(0);
    expect(await http.post(url, { beforeConnect: ask(true) })).toMatchObject({ status: 200 });
    expect(seen).toEqual([1, 0, 3, 0]);
  });

  it('have a limit of their own where one is given, and what the caller is asked takes nothing from it', async () => {
    const target = await receiver();
    const slow = (): Promise<readonly string[]> => new Promise(() => undefined);
    const http = client({ resolver: scriptedResolver({ [NAME]: [GOOD], 'slow.example.test': slow }) });
    const limits = { timeout: 15_000, resolveTimeout: 30, connectTimeout: 10_000 };
    const start = performance.now();
    const late = await http.post(`https://slow.example.test:${target.port}/`, limits);
    expect(late).toEqual({ type: 'timedOut', phase: 'resolve' });
    expect(performance.now() - start).toBeLessThan(9_000);
    const beforeConnect = async (): Promise<boolean> => {
      // Longer than the limit of the look-up, which is over by then.
      await new Promise((resolve) => setTimeout(resolve, 60));
      return true;
    };
    expect(await http.post(`https://${NAME}:${target.port}/`, { ...limits, beforeConnect })).toMatchObject({
      status: 200,
    });
  });

  it('are asked for once an attempt, and carry SNI, certificate and Host to the checked address', async () => {
    const target = await receiver();
    const resolver = scriptedResolver({ [NAME]: [GOOD] });
    const http = client({ resolver });
    expect(await http.post(`https://${NAME.toUpperCase()}:${target.port}/path?query`)).toMatchObject({ status: 200 });
    expect(resolver.asked).toEqual([NAME]);
    expect(target.accepted[0]?.received).toMatch(
      /^POST \/path\?query HTTP\/1.1\r\nhost: receiver\.example\.test:\d+\r\n/,
    );
    expect(target.accepted[0]?.socket).toMatchObject({ servername: NAME });
  });

  it('are refused for one bad address among good ones', async () => {
    const target = await receiver();
    const canary = await receiver(BAD, target.port);
    for (const addresses of [
      [GOOD, BAD],
      [BAD, GOOD],
      ['127.0.0.2', GOOD, '::1'],
      [GOOD, 'not an address'],
    ]) {
      const http = client({ resolver: scriptedResolver({ [NAME]: addresses }) });
      expect((await http.post(`https://${NAME}:${target.port}/`)).type).toBe('refused');
    }
    expect(target.accepted).toHaveLength(0);
    expect(canary.accepted).toHaveLength(0);
  });

  it('are dialled where they were checked, whatever they answer afterwards', async () => {
    const target = await receiver();
    const canary = await receiver(BAD, target.port);
    const resolver = scriptedResolver({ [NAME]: async (question) => (question === 1 ? [GOOD] : [BAD]) });
    const http = client({ resolver, keepAlive: { maxIdle: 0 } });
    expect(await http.post(`https://${NAME}:${target.port}/`)).toMatchObject({ type: 'responded', status: 200 });
    expect(resolver.asked).toHaveLength(1);
    expect(await http.post(`https://${NAME}:${target.port}/`)).toEqual({ type: 'refused', reason: 'loopback' });
    expect(target.accepted).toHaveLength(1);
    expect(canary.accepted).toHaveLength(0);
  });

  it('may have 16 addresses and not 17', async () => {
    const target = await receiver();
    const addresses = [GOOD, ...Array.from({ length: 15 }, (_, index) => `fd00:dead::${index + 1}`)];
    const resolver = scriptedResolver({ [NAME]: addresses });
    const http = client({ resolver });
    expect(await http.post(`https://${NAME}:${target.port}/`)).toMatchObject({ status: 200 });
    resolver.answer(NAME, [...addresses, 'fd00:dead::ff']);
    expect(await http.post(`https://${NAME}:${target.port}/`)).toEqual({
      type: 'refused',
      reason: 'too-many-addresses',
    });
  });

  it('without an address, or with a failing resolver, may be tried again', async () => {
    const resolver = scriptedResolver({
      'none.example.test': [],
      'broken.example.test': Object.assign(new Error('broken'), { code: 'ESERVFAIL' }),
      'odd.example.test': Object.assign(new Error('odd'), { code: 'what is: this?' }),
    });
    const http = client({ resolver });
    const kind = async (name: string) => await http.post(`https://${name}/`);
    expect(await kind('none.example.test')).toEqual({ type: 'unreachable', kind: 'dns:no-addresses' });
    expect(await kind('broken.example.test')).toEqual({ type: 'unreachable', kind: 'dns:ESERVFAIL' });
    expect(await kind('unknown.example.test')).toEqual({ type: 'unreachable', kind: 'dns:ENOTFOUND' });
    expect(await kind('odd.example.test')).toEqual({ type: 'unreachable', kind: 'dns:failed' });
  });

  it('are not even asked for when the caller has aborted already', async () => {
    const resolver = scriptedResolver({ [NAME]: [GOOD] });
    const result = await client({ resolver }).post(`https://${NAME}/`, { signal: AbortSignal.abort() });
    expect(result).toEqual({ type: 'unreachable', kind: 'aborted' });
    expect(resolver.asked).toEqual([]);
  });

  it('that are answered too late end with the connect time', async () => {
    const target = await receiver();
    let answer: (addresses: string[]) => void = () => undefined;
    const resolver = scriptedResolver({
      [NAME]: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    });
    const http = client({ resolver, connectTimeout: 100 });
    expect(await http.post(`https://${NAME}:${target.port}/`)).toEqual({ type: 'timedOut', phase: 'resolve' });
    answer([GOOD]);
    await new Promise(setImmediate);
    expect(target.accepted).toHaveLength(0);
  });

  it('leave the connect time what the resolver took of it', async () => {
    const hole = await startBlackHole('127.0.0.3');
    cleanUps.push(() => hole.close());
    const slow = async () => await new Promise<string[]>((resolve) => setTimeout(resolve, 1_500, ['127.0.0.3']));
    const http = client({ resolver: slow, connectTimeout: 2_000, timeout: 10_000 });
    const start = performance.now();
    expect(await http.post(`https://${NAME}:${hole.port}/`)).toEqual({ type: 'timedOut', phase: 'connect' });
    // All of it again would make three and a half.
    expect(performance.now() - start).toBeLessThan(3_400);
  });

  it('may answer an IPv4-mapped address, which is the IPv4 address wherever connections are compared', async () => {
    const target = await receiver();
    const resolver = scriptedResolver({ [NAME]: ['::ffff:127.0.0.1'] });
    const http = client({ resolver, allow: ['::ffff:127.0.0.1/128', GOOD] });
    expect(await http.post(`https://${NAME}:${target.port}/`)).toMatchObject({ status: 200 });
    resolver.answer(NAME, [GOOD]);
    expect(await http.post(`https://${NAME}:${target.port}/`)).toMatchObject({ status: 200 });
    expect(target.accepted).toHaveLength(1);
  });

  it('resume their TLS session on a new connection', async () => {
    const resumed: boolean[] = [];
    const target = await receiver(GOOD, 0, (accepted) => {
      const { socket } = accepted;
      resumed.push(socket instanceof TLSSocket && socket.isSessionReused());
      answerOk(accepted);
    });
    const http = client({ resolver: scriptedResolver({ [NAME]: [GOOD] }), keepAlive: { maxIdle: 0 } });
    await http.post(`https://${NAME}:${target.port}/`);
    await http.post(`https://${NAME}:${target.port}/`);
    expect(resumed).toEqual([false, true]);
  });

  describe('with several addresses', () => {
    it('reach the last where the others refuse, at once', async () => {
      const target = await receiver();
      const others = Array.from({ length: 15 }, (_, n) => `127.0.0.${n + 2}`);
      const http = client({ allow: ['127.0.0.0/27'], resolver: scriptedResolver({ [NAME]: [...others, GOOD] }) });
      const start = performance.now();
      expect(await http.post(`https://${NAME}:${target.port}/`)).toMatchObject({ status: 200 });
      // Waiting a quarter of a second beside each would take nearly four.
      expect(performance.now() - start).toBeLessThan(3_500);
    });

    it('reach the second where the first never answers', async () => {
      const hole = await startBlackHole('127.0.0.2');
      cleanUps.push(() => hole.close());
      const target = await receiver(GOOD, hole.port);
      const http = client({ resolver: scriptedResolver({ [NAME]: ['127.0.0.2', GOOD] }) });
      const start = performance.now();
      expect(await http.post(`https://${NAME}:${target.port}/`)).toMatchObject({ status: 200 });
      // A quarter of a second; waiting for the first to its end would take the connect time.
      expect(performance.now() - start).toBeLessThan(2_500);
    });

    it('reach IPv4 on a host without IPv6, although IPv6 comes first', async () => {
      const target = await receiver();
      const http = client({ resolver: scriptedResolver({ [NAME]: ['fd00:dead::1', 'fd00:dead::2', GOOD] }) });
      expect(await http.post(`https://${NAME}:${target.port}/`)).toMatchObject({ status: 200 });
    });

    it('say the first error where none works', async () => {
      const target = await receiver();
      target.close();
      const http = client({ resolver: scriptedResolver({ [NAME]: ['127.0.0.2', '127.0.0.4', GOOD] }) });
      expect(await http.post(`https://${NAME}:${target.port}/`)).toEqual({ type: 'unreachable', kind: 'ECONNREFUSED' });
    });
  });

  it('that now resolve elsewhere do not get the connection of before', async () => {
    const first = await receiver('127.0.0.1');
    const second = await receiver('127.0.0.2', first.port);
    const resolver = scriptedResolver({ [NAME]: ['127.0.0.1'] });
    const http = client({ resolver });
    const post = async () => await http.post(`https://${NAME}:${first.port}/`);
    await post();
    await post();
    expect([first.accepted.length, second.accepted.length]).toEqual([1, 0]);
    resolver.answer(NAME, ['127.0.0.2']);
    await post();
    expect([first.accepted.length, second.accepted.length]).toEqual([1, 1]);
    // It is kept for when the name goes back, and serves a name that has both.
    resolver.answer(NAME, ['127.0.0.3', '127.0.0.1']);
    await post();
    expect([first.accepted.length, second.accepted.length]).toEqual([1, 1]);
    resolver.answer(NAME, [BAD]);
    expect(await post()).toEqual({ type: 'refused', reason: 'loopback' });
  });

  describe('by the built-in resolver', () => {
    async function resolverFor(answers: Answers) {
      const server = await startDnsServer(answers);
      cleanUps.push(() => server.close());
      return { resolver: dnsResolver([server.server]), asked: server.asked };
    }

    it('are found over TCP where UDP cuts the answer', async () => {
      const target = await receiver();
      const { resolver, asked } = await resolverFor((_name, type) => (type === 'A' ? 'truncated-over-udp' : []));
      expect(await resolver(NAME)).toEqual(['127.0.0.1', '127.0.0.2']);
      expect(asked.tcp).toBeGreaterThan(0);
      expect(await client({ resolver }).post(`https://${NAME}:${target.port}/`)).toMatchObject({ status: 200 });
    });

    it('have addresses of both families in turn', async () => {
      const { resolver } = await resolverFor((_name, type) =>
        type === 'A' ? ['192.0.2.1', '192.0.2.2', '192.0.2.3'] : ['2001:db8::1'],
      );
      expect(await resolver(NAME)).toEqual(['192.0.2.1', '2001:db8::1', '192.0.2.2', '192.0.2.3']);
    });

    it('are not kept from one attempt to the next', async () => {
      let address = '192.0.2.1';
      const { resolver } = await resolverFor((_name, type) => (type === 'A' ? [address] : []));
      expect(await resolver(NAME)).toEqual(['192.0.2.1']);
      address = '192.0.2.2';
      expect(await resolver(NAME)).toEqual(['192.0.2.2']);
    });

    it('do not wait long for a family that is never answered', async () => {
      const { resolver } = await resolverFor((_name, type) => (type === 'A' ? ['192.0.2.1'] : 'silence'));
      const cancel = jest.spyOn(Resolver.prototype, 'cancel');
      const start = performance.now();
      expect(await resolver(NAME)).toEqual(['192.0.2.1']);
      expect(performance.now() - start).toBeLessThan(2_500);
      expect(cancel).toHaveBeenCalled();
    });

    it('are used where the other family fails', async () => {
      const { resolver } = await resolverFor((_name, type) => (type === 'A' ? 'no-such-name' : ['2001:db8::1']));
      expect(await resolver(NAME)).toEqual(['2001:db8::1']);
    });

    it('that do not exist, or have no address, say so', async () => {
      const { resolver } = await resolverFor((name) => (name === NAME ? 'no-such-name' : []));
      await expect(resolver(NAME)).rejects.toMatchObject({ code: 'ENOTFOUND' });
      await expect(resolver('empty.example.test')).rejects.toMatchObject({ code: 'ENODATA' });
    });

    it('that are never answered end with the connect time', async () => {
      const { resolver } = await resolverFor(() => 'silence');
      const http = client({ resolver, connectTimeout: 150 });
      const cancel = jest.spyOn(Resolver.prototype, 'cancel');
      expect(await http.post(`https://${NAME}/`)).toEqual({ type: 'timedOut', phase: 'resolve' });
      // The question ends with the attempt, and does not keep the process for the tries that are left.
      expect(cancel).toHaveBeenCalled();
    });

    it('are asked of a name server, not of local files', async () => {
      const { resolver, asked } = await resolverFor(() => 'no-such-name');
      await expect(resolver('localhost.localdomain')).rejects.toMatchObject({ code: 'ENOTFOUND' });
      expect(asked.udp).toBeGreaterThan(0);
    });
  });
});
