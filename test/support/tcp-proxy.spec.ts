import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { startTcpProxy, type TcpProxy } from './tcp-proxy';

let echo: Server;
let proxy: TcpProxy;
const sockets: Socket[] = [];

beforeAll(async () => {
  echo = createServer((socket) => {
    socket.on('error', () => {});
    socket.pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(echo, 'listening');
});

afterAll((done) => {
  echo.close(done);
});

beforeEach(async () => {
  const address = echo.address();
  proxy = await startTcpProxy({ host: '127.0.0.1', port: typeof address === 'object' && address ? address.port : 0 });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await proxy.close();
});

/** A client through the proxy, that collects what comes back and how it ends. */
function client(): {
  socket: Socket;
  got: () => string;
  receives(text: string): Promise<void>;
  closed: Promise<string>;
} {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', noDelay: true });
  sockets.push(socket);
  let got = '';
  const collected = () => got;
  let end = 'closed';
  socket.on('data', (chunk: Buffer) => (got += chunk.toString()));
  socket.on('error', (error: NodeJS.ErrnoException) => (end = error.code ?? 'error'));
  return {
    socket,
    got: collected,
    receives: async (text) => {
      while (collected() !== text) await once(socket, 'data');
    },
    closed: new Promise((resolve) => void socket.once('close', () => resolve(end))),
  };
}

it('passes bytes and the end of a connection in both directions', async () => {
  const a = client();
  a.socket.write('hello');
  await a.receives('hello');
  expect(proxy.connections()).toBe(1);
  a.socket.end(' there');
  await expect(a.closed).resolves.toBe('closed');
  expect(a.got()).toBe('hello there');
});

it('cuts present connections with a reset and takes new ones', async () => {
  const a = client();
  a.socket.write('x');
  await a.receives('x');
  proxy.cut();
  await expect(a.closed).resolves.toBe('ECONNRESET');
  const b = client();
  b.socket.write('y');
  await b.receives('y');
});

it('refuses new connections until it accepts again, and leaves present ones alone', async () => {
  const a = client();
  a.socket.write('x');
  await a.receives('x');
  proxy.refuse();
  await expect(client().closed).resolves.toBe('ECONNRESET');
  a.socket.write('y');
  await a.receives('xy');
  proxy.accept();
  const b = client();
  b.socket.write('z');
  await b.receives('z');
});

it('freezes at the chunk that a gate names, and thaws in order, also with latency', async () => {
  const a = client();
  a.socket.write('first.');
  await a.receives('first.');
  const reached = proxy.freezeAfter((chunk, direction) => direction === 'server' && chunk.includes('second.'));
  proxy.setLatency(20);
  a.socket.write('second.');
  await reached;
  proxy.setLatency(0);
  const late = client();
  late.socket.write('third.');
  await once(late.socket, 'connect');
  expect(a.got()).toBe('first.');
  expect(late.got()).toBe('');
  proxy.thaw();
  await a.receives('first.second.');
  await late.receives('third.');
});

it('delays by the latency in each direction', async () => {
  const a = client();
  await once(a.socket, 'connect');
  proxy.setLatency(30);
  const began = performance.now();
  a.socket.write('x');
  await a.receives('x');
  expect(performance.now() - began).toBeGreaterThanOrEqual(60);
});
