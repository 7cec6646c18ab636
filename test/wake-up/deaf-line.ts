import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A line to PostgreSQL on which notifications get lost, as behind a pooler that hands connections out by transaction. */
export interface DeafLine {
  readonly url: string;
  /** Lets notifications pass from now on, and {@link deafen} swallows them again. */
  hear(): void;
  deafen(): void;
  close(): Promise<void>;
}

/** The type of PostgreSQL's message NotificationResponse. */
const notification = 'A'.charCodeAt(0);

export async function deafLineTo(databaseUrl: string): Promise<DeafLine> {
  const url = new URL(databaseUrl);
  const target = { host: url.hostname, port: Number(url.port) };
  const sockets = new Set<Socket>();
  let swallowing = true;
  const server = createServer((client) => {
    const upstream = connect(target);
    let rest = Buffer.alloc(0);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    // Each message of the server: a byte for its type, four for its length, which counts itself.
    upstream.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 5 && rest.length >= 1 + rest.readInt32BE(1)) {
        const message = rest.subarray(0, 1 + rest.readInt32BE(1));
        rest = rest.subarray(message.length);
        if (!(swallowing && message[0] === notification)) client.write(message);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as { port: number }).port);
  return {
    url: url.toString(),
    hear: () => void (swallowing = false),
    deafen: () => void (swallowing = true),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
