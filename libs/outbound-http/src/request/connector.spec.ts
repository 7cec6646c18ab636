import { createServer, type Server } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Destination } from '../address-policy/read-destination';
import { Connection } from './connection';
import { openConnection, UncheckedRemoteError, type ConnectorContext, type Route } from './connector';
import { Deadline } from './deadline';
import { exchange } from './exchange';
import { TlsSessions } from './tls-sessions';

describe('the second look at the remote address', () => {
  let server: Server;
  let port = 0;
  let received = 0;
  const context: ConnectorContext = { secureContext: createSecureContext(), sessions: new TlsSessions() };

  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on('data', (data) => {
        received += data.length;
      });
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const address = server.address();
    port = typeof address === 'object' && address ? address.port : 0;
  });

  afterAll(() => server.close());

  // Linux and macOS connect 0.0.0.0 to loopback: a socket whose peer is not what was dialled.
  function route(deadline: Deadline): Route {
    const destination: Destination = {
      protocol: 'http:',
      origin: `http://0.0.0.0:${port}`,
      hostname: '0.0.0.0',
      port,
      path: '/',
      literal: true,
    };
    return { destination, addresses: [{ address: '0.0.0.0', canonical: '0.0.0.0' }], deadline };
  }

  it('closes a socket that reached an unchecked address', async () => {
    const deadline = new Deadline({ timeout: 1000, connectTimeout: 1000 });
    const error = await new Promise((resolve) => {
      openConnection(route(deadline), context, resolve);
    });
    deadline.release();
    expect(error).toBeInstanceOf(UncheckedRemoteError);
    expect(error).toMatchObject({ remote: '127.0.0.1' });
  });

  it('refuses the attempt, and sends nothing', async () => {
    const deadline = new Deadline({ timeout: 1000, connectTimeout: 1000 });
    const connection = new Connection(`http://0.0.0.0:${port}`, context, 1000);
    connection.hold(route(deadline));
    const { result } = await exchange(connection, '/', { method: 'POST', body: 'secret' }, deadline, false);
    deadline.release();
    connection.destroy();
    expect(result).toEqual({ type: 'refused', reason: 'unchecked-remote-address' });
    expect(received).toBe(0);
  });

  it('lets no connection be opened outside an attempt', async () => {
    const connection = new Connection(`http://127.0.0.1:${port}`, context, 1000);
    await expect(connection.client.request({ path: '/', method: 'GET' })).rejects.toThrow('outside an attempt');
    connection.destroy();
  });
});
