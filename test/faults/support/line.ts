import type { DeliveriesOptions } from 'nest-deliveries';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy';

/** A line to PostgreSQL that a test can freeze and cut. */
export interface Line extends TcpProxy {
  /** The database's address through this line. */
  readonly url: string;
  /** The option `connection` that sends the workers' connections, and not the host's, through this line. */
  readonly connection: NonNullable<DeliveriesOptions['connection']>;
  /**
   * Freezes the line when the server answers for the first time after a client sent something with `text` in it: the
   * statement has arrived, and what became of it is not known here. The name of a prepared statement is in every message
   * that runs it.
   */
  freezeReplyTo(text: string): Promise<void>;
  /** Counts the messages from clients with `text` in them, from now on. */
  count(text: string): () => number;
}

export async function lineTo(databaseUrl: string): Promise<Line> {
  const url = new URL(databaseUrl);
  const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  return {
    ...proxy,
    url: url.toString(),
    connection: { connectionString: url.toString() },
    freezeReplyTo: (text) => {
      let sent = false;
      return proxy.freezeAfter((chunk, direction) => {
        sent ||= direction === 'client' && chunk.includes(text);
        return sent && direction === 'server';
      });
    },
    count: (text) => {
      let seen = 0;
      void proxy.freezeAfter((chunk, direction) => {
        if (direction === 'client') seen += chunk.toString('latin1').split(text).length - 1;
        return false;
      });
      return () => seen;
    },
  };
}
