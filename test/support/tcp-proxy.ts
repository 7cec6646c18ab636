import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** Who sent a chunk. */
export type Direction = 'client' | 'server';

/** A proxy in front of one address whose line can be cut, refused, frozen and slowed down. */
export interface TcpProxy {
  /** Where to connect to on 127.0.0.1. */
  readonly port: number;
  /** Resets every present connection, on both sides. */
  cut(): void;
  /** From now on new connections are reset at once; present ones go on. */
  refuse(): void;
  /** Takes new connections again. */
  accept(): void;
  /** A black hole: nothing passes in either direction and nothing is closed; new connections are taken and held as well. */
  freeze(): void;
  /** Lets everything that was held pass, in its order, and then the rest. */
  thaw(): void;
  /** Delay of every chunk, in each direction, in milliseconds. Default 0. */
  setLatency(milliseconds: number): void;
  /**
   * Freezes as soon as a chunk matches; that chunk is held too. Resolves when it has happened. The chunks of one connection
   * come in order, but their borders are the network's: match on something short. Only one gate at a time.
   */
  freezeAfter(predicate: (chunk: Buffer, direction: Direction) => boolean): Promise<void>;
  /** Number of open connections from clients. */
  connections(): number;
  /** Resets everything and stops listening. */
  close(): Promise<void>;
}

interface Gate {
  predicate: (chunk: Buffer, direction: Direction) => boolean;
  reached: () => void;
}

/** One direction of one connection: steps run in their order, none before its time, none while the line is frozen. */
interface Lane {
  push(step: () => void): void;
  drain(): void;
}

/** Starts a proxy on a free port of 127.0.0.1. */
export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  const lanes = new Set<Lane>();
  let refusing = false;
  let frozen = false;
  let latency = 0;
  let gate: Gate | undefined;

  const lane = (): Lane => {
    const steps: { due: number; step: () => void }[] = [];
    const mayPass = () => !frozen && steps[0] !== undefined && steps[0].due <= performance.now();
    const drain = () => {
      while (mayPass()) steps.shift()?.step();
    };
    return {
      drain,
      push: (step) => {
        steps.push({ due: performance.now() + latency, step });
        // A timer may fire up to 1 ms early by the finer clock; one more millisecond makes the step due for sure.
        if (latency > 0) setTimeout(drain, latency + 1);
        else drain();
      },
    };
  };

  const relay = (from: Socket, to: Socket, direction: Direction) => {
    const way = lane();
    lanes.add(way);
    sockets.add(from);
    from.on('data', (chunk: Buffer) => {
      if (gate?.predicate(chunk, direction)) {
        frozen = true;
        gate.reached();
        gate = undefined;
      }
      way.push(() => void (to.destroyed || to.write(chunk)));
    });
    from.on('end', () => way.push(() => void (to.destroyed || to.end())));
    from.on('error', () => way.push(() => reset(to)));
    from.on('close', () => {
      sockets.delete(from);
      way.push(() => void lanes.delete(way));
    });
  };

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    if (refusing) {
      client.on('error', () => {});
      reset(client);
      return;
    }
    clients.add(client);
    client.on('close', () => void clients.delete(client));
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true });
    relay(client, upstream, 'client');
    relay(upstream, client, 'server');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  const cut = () => {
    for (const socket of sockets) reset(socket);
    lanes.clear();
  };
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : 0,
    cut,
    refuse: () => void (refusing = true),
    accept: () => void (refusing = false),
    freeze: () => void (frozen = true),
    thaw: () => {
      frozen = false;
      for (const way of lanes) way.drain();
    },
    setLatency: (milliseconds) => void (latency = milliseconds),
    freezeAfter: (predicate) => new Promise((reached) => void (gate = { predicate, reached })),
    connections: () => clients.size,
    close: async () => {
      cut();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * RST instead of FIN: what a crashed machine or a firewall does. A socket that is still dialling can only be destroyed, and
 * so can one whose end was sent: libuv refuses to reset it (EINVAL), and Node 20 would then wait for its handle for ever at
 * the exit of the process, in a loop that takes a whole core.
 */
function reset(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
