import { connect, type Socket } from 'node:net';
import type { CheckedAddress } from '../resolve/resolve-destination';

/**
 * How long an address is waited for before the next one is tried beside it, in milliseconds: the connection attempt
 * delay of RFC 8305 section 5. The slow one stays in the race, so a far receiver with two addresses is still reached.
 */
const STAGGER = 250;

export type Dialled = (error: NodeJS.ErrnoException | undefined, socket?: Socket) => void;

/**
 * Opens a TCP connection to the first address that takes one: in their order, the next as soon as one fails, and after
 * a quarter of a second beside one that does not answer. Only literals are dialled, so nothing is looked up again.
 *
 * @returns cancels: every socket that is still open or opening is destroyed and `done` is not called any more.
 */
export function dial(addresses: readonly CheckedAddress[], port: number, done: Dialled): () => void {
  const opening = new Set<Socket>();
  let next = 0;
  let firstError: NodeJS.ErrnoException | undefined;
  let stagger: NodeJS.Timeout | undefined;
  let over = false;

  const end = (): void => {
    over = true;
    clearTimeout(stagger);
    for (const socket of opening) {
      socket.destroy();
    }
  };

  const tryNext = (): void => {
    clearTimeout(stagger);
    const target = addresses[next++];
    if (!target) {
      return;
    }
    const socket = connect({ host: target.address, port, noDelay: true, keepAlive: true });
    opening.add(socket);
    socket.once('connect', () => {
      opening.delete(socket);
      socket.removeAllListeners('error');
      end();
      done(undefined, socket);
    });
    socket.on('error', (error) => {
      opening.delete(socket);
      firstError ??= error;
      if (over) {
        return;
      }
      if (next < addresses.length) {
        tryNext();
      } else if (opening.size === 0) {
        end();
        done(firstError);
      }
    });
    if (next < addresses.length) {
      stagger = setTimeout(tryNext, STAGGER);
    }
  };

  tryNext();
  return end;
}
