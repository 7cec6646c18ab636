import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ports that systems hand out to outgoing connections (from 32768 on Linux, 49152 on macOS). In that range a client
 * that keeps dialling a stopped server can be given the server's own port, connect to itself and keep the port taken.
 */
const FIRST = 20_000;
const END = 32_000;

/** A port on 127.0.0.1 that nobody listens on at this moment; the caller still has to expect that somebody takes it. */
export async function chooseFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END);
    // One try after the other: each candidate is held only for the moment of the test.
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}
