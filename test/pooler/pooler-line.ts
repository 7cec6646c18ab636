import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A line to PostgreSQL that refuses what a pooler by transaction refuses. */
export interface PoolerLine {
  readonly url: string;
  /** Names of the statements that clients prepared. */
  readonly prepared: string[];
  close(): Promise<void>;
}

/**
 * - `refuses`: settings at the start of a session are an error, as with PgBouncer
 * - `ignores`: they are left out, as PgBouncer does with `ignore_startup_parameters`
 */
export async function poolerLineTo(databaseUrl: string, options: 'refuses' | 'ignores'): Promise<PoolerLine> {
  const url = new URL(databaseUrl);
  const target = { host: url.hostname, port: Number(url.port) };
  const sockets = new Set<Socket>();
  const prepared: string[] = [];
  const server = createServer((client) => {
    const upstream = connect(target);
    let started = false;
    let rest = Buffer.alloc(0);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    upstream.pipe(client);
    client.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      if (!started && rest.length >= 4 && rest.length >= rest.readInt32BE(0)) {
        const startUp = rest.subarray(0, rest.readInt32BE(0));
        rest = rest.subarray(startUp.length);
        started = true;
        const settings = parametersOf(startUp);
        if (settings.delete('options') && options === 'refuses') return void client.end(refusal());
        upstream.write(startUpOf(settings));
      }
      if (!started) return;
      while (rest.length >= 5 && rest.length >= 1 + rest.readInt32BE(1)) {
        const message = rest.subarray(0, 1 + rest.readInt32BE(1));
        rest = rest.subarray(message.length);
        // Parse: the name of the statement, which is empty for one that is not kept.
        if (message[0] === 'P'.charCodeAt(0) && message[5] !== 0) {
          prepared.push(message.subarray(5, message.indexOf(0, 5)).toString());
        }
        upstream.write(message);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.toString(),
    prepared,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** StartupMessage: length, version, then names and values that each end with a zero, and one zero more. */
function parametersOf(startUp: Buffer): Map<string, string> {
  const texts = startUp.subarray(8).toString().split('\0').slice(0, -2);
  const pairs = Array.from({ length: texts.length / 2 }, (_, n) => [texts[2 * n]!, texts[2 * n + 1]!] as const);
  return new Map(pairs);
}

function startUpOf(parameters: Map<string, string>): Buffer {
  const texts = Buffer.from(`${[...parameters].flat().join('\0')}\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + texts.length, 0);
  head.writeInt32BE(196_608, 4);
  return Buffer.concat([head, texts]);
}

/** ErrorResponse, in PgBouncer's words. */
function refusal(): Buffer {
  const fields = Buffer.from('SFATAL\0C08P01\0Munsupported startup parameter: options\0\0');
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, fields]);
}
