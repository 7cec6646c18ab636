import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

export interface BlackHole {
  port: number;
  close(): void;
}

/**
 * An address that swallows connection attempts: a listening process that is stopped and whose queue of waiting
 * connections is full, so that the kernel drops every further SYN without an answer. Linux.
 */
export async function startBlackHole(host: string): Promise<BlackHole> {
  const script = `const s = require('node:net').createServer(() => {});
    s.listen({ port: 0, host: ${JSON.stringify(host)}, backlog: 1 }, () => process.stdout.write(String(s.address().port)));`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [text]: unknown[] = await once(child.stdout, 'data');
  const port = Number(String(text));
  child.kill('SIGSTOP');
  const fillers: Socket[] = [];
  const close = (): void => {
    for (const socket of fillers) {
      socket.destroy();
    }
    child.kill('SIGKILL');
  };
  for (let tries = 0; tries < 20; tries++) {
    const socket = connect({ host, port });
    socket.on('error', () => undefined);
    fillers.push(socket);
    // On loopback an accepted connection stands within a millisecond; one that does not within 100 was dropped.
    const taken = await Promise.race([once(socket, 'connect').then(() => true), wait(100, false)]);
    if (!taken) {
      return { port, close };
    }
  }
  close();
  throw new Error('the queue of waiting connections never filled');
}
