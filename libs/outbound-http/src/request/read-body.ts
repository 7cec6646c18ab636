import type { Readable } from 'node:stream';
import type { Deadline } from './deadline';

/** The most of a body that is read, in bytes. */
export const MAX_BODY = 64 * 1024;

/**
 * Reads the first 64 KiB of a body. What comes after is neither kept nor read: destroying the stream closes the
 * connection. A body that breaks off, or that the deadline cuts, gives what has come so far.
 *
 * @param done called once; `complete` tells whether the body ended by itself within the limit.
 */
export function readBody(body: Readable, deadline: Deadline, done: (read: Buffer, complete: boolean) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  let over = false;

  const finish = (complete: boolean): void => {
    if (over) {
      return;
    }
    over = true;
    const read = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks);
    done(read, complete);
    if (!complete) {
      body.destroy();
    }
  };

  body.on('data', (chunk: Buffer) => {
    if (over) {
      return;
    }
    const room = MAX_BODY - size;
    if (chunk.length > room) {
      // Copied, so that 64 KiB do not hold on to a larger chunk.
      chunks.push(Buffer.from(chunk.subarray(0, room)));
      finish(false);
      return;
    }
    size += chunk.length;
    chunks.push(chunk);
  });
  body.on('end', () => finish(true));
  body.on('error', () => finish(false));
  body.on('close', () => finish(false));
  deadline.onStop(() => finish(false));
}
