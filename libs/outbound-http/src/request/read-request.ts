import { InvalidRequestError } from '../errors';
import { checkHeaders } from './check-headers';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

export type Method = (typeof METHODS)[number];

/** What goes over the wire. */
export interface OutboundRequest {
  method: Method;
  /** Default: none of its own; Host and Content-Length are set by the client. */
  headers?: Readonly<Record<string, string>> | undefined;
  body?: string | Uint8Array | undefined;
}

/** Checks what a caller asks for. A mistake here is the caller's, not the receiver's, so it throws. */
export function readRequest(request: OutboundRequest): OutboundRequest {
  if (!METHODS.includes(request.method)) {
    throw new InvalidRequestError(
      'INVALID_METHOD',
      `method must be one of ${METHODS.join(', ')}; use one of these instead of ${JSON.stringify(request.method)}.`,
    );
  }
  const { body } = request;
  if (body !== undefined && typeof body !== 'string' && !ArrayBuffer.isView(body)) {
    throw new InvalidRequestError('INVALID_BODY', 'body must be a string or bytes; serialize it first.');
  }
  if (request.headers) {
    checkHeaders(request.headers);
  }
  return request;
}
