import { join } from 'node:path';
import { endServer, type Launch, launch } from './launch';
import type { EmbeddedPostgres } from './options';
import { removeRunFolder } from './run-folder';
import { ensureDatabase } from './running-server';
import type { Guarded } from './watchdog';

/** The handle of a server that another process has started on `<home>/data` and keeps. */
export async function attachedServer(port: number, home: string, database: string): Promise<EmbeddedPostgres> {
  await ensureDatabase(port, database);
  const refuse = () => Promise.reject(new Error(`The server on port ${port} belongs to another process.`));
  return {
    ...address(port, home, database),
    attached: true,
    stop: async () => {},
    stopServer: refuse,
    startServer: refuse,
  };
}

/** The handle of the server that we have started; a failure to make its database ends it. */
export async function ownServer(
  order: Launch,
  first: Guarded,
  port: number,
  database: string,
): Promise<EmbeddedPostgres> {
  let server: Guarded | undefined = first;
  let stopped: Promise<void> | undefined;
  const end = async (signal: 'INT' | 'QUIT') => {
    const ending = server;
    server = undefined;
    if (ending) await endServer(ending, signal);
  };
  const stop = async () => {
    await end(order.temporary ? 'QUIT' : 'INT');
    await removeRunFolder(order.runFolder);
  };
  await ensureDatabase(port, database).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    ...address(port, order.home, database),
    attached: false,
    stop: () => (stopped ??= stop()),
    stopServer: (how) => end(how === 'fast' ? 'INT' : 'QUIT'),
    startServer: async () => {
      if (stopped) throw new Error('This server was stopped for good: start a new one.');
      if (server && server.ended() === undefined) throw new Error('The server is running.');
      const started = await launch(order, port);
      if (started === 'folder-in-use') throw new Error(`Another process serves ${order.home}.`);
      server = started.server;
    },
  };
}

function address(port: number, home: string, database: string) {
  const url = `postgres://postgres@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  return { url, port, dataDirectory: join(home, 'data') };
}
