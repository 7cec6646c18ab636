import { InternalServerErrorException, Logger, PayloadTooLargeException } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';

/** A request of Express or of Fastify, as far as it matters here. */
export interface RawRequest extends IncomingMessage {
  /** Set by Nest's option `rawBody`. */
  readonly rawBody?: Buffer;
  /** Fastify's request holds Node's. */
  readonly raw?: IncomingMessage;
}

/**
 * The bytes of a body as they came: those that Nest kept, or read here when no parser has been at them.
 * @param limit in bytes
 * @throws PayloadTooLargeException as soon as it is known to be longer; InternalServerErrorException when a parser has thrown the
 *   bytes away
 */
export async function rawBodyOf(request: RawRequest, limit: number): Promise<Buffer> {
  const { rawBody } = request;
  const incoming = request.raw ?? request;
  if (Number(incoming.headers['content-length'] ?? 0) > limit) throw new PayloadTooLargeException();
  const bytes = rawBody ?? (await readBounded(incoming, limit));
  if (bytes.length > limit) throw new PayloadTooLargeException();
  return bytes;
}

async function readBounded(incoming: IncomingMessage, limit: number): Promise<Buffer> {
  if (incoming.readableDidRead) {
    new Logger('Webhooks').error(
      'The raw bytes of a webhook are gone, so that nothing can be verified: start the application with rawBody: true, as in ' +
        'NestFactory.create(AppModule, { rawBody: true }).',
    );
    throw new InternalServerErrorException();
  }
  const chunks: Buffer[] = [];
  let length = 0;
  // The connection stays, so that the answer reaches the sender.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > limit) throw new PayloadTooLargeException();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
