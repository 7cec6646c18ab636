import { once } from 'node:events';
import type { Server } from 'node:net';

/** Starts the server on a free port of the given loopback address and answers that port. */
export async function listen(server: Server, host = '127.0.0.1', port = 0): Promise<number> {
  server.listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') {
    throw new Error('the server does not listen on TCP');
  }
  return address.port;
}

/** Starts the server on a free port of every local address: of both families, or of IPv4 where there is no IPv6. */
export async function listenEverywhere(server: Server): Promise<number> {
  try {
    return await listen(server, '::');
  } catch (error) {
    if (errorCode(error) !== 'EAFNOSUPPORT' && errorCode(error) !== 'EADDRNOTAVAIL') {
      throw error;
    }
    return await listen(server, '0.0.0.0');
  }
}

/** The code of an error of the platform; undefined for whatever carries none. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
