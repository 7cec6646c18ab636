import {
  ForbiddenException,
  Injectable,
  UnsupportedMediaTypeException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** What is read of a request: Express's and Fastify's both have it. */
interface IncomingRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/**
 * Stands before the host's guards. Nothing here is kept by anybody, and nothing is changed on the word of another site: a
 * browser sends its user's cookies along with a form of any page, but JSON of another site only after asking us, and it says in
 * `Sec-Fetch-Site` whose page it is.
 */
@Injectable()
export class EntranceGuard implements CanActivate {
  constructor(private readonly host: HttpAdapterHost) {}

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    for (const [name, value] of Object.entries({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })) {
      this.host.httpAdapter.setHeader(http.getResponse(), name, value);
    }
    const request = http.getRequest<IncomingRequest>();
    if (request.method === 'GET' || request.method === 'HEAD') return true;
    if (isForeign(request)) throw new ForbiddenException('Nothing was done: this came from a page of another site.');
    if (!/^application\/json\s*(;|$)/i.test(String(request.headers['content-type']))) {
      throw new UnsupportedMediaTypeException(
        "Nothing was done: send JSON, if only {}, with the header 'content-type: application/json'.",
      );
    }
    return true;
  }
}

/** Whether a page of another origin sent it; programs other than browsers say nothing of it. */
function isForeign({ headers }: IncomingRequest): boolean {
  const site = headers['sec-fetch-site'];
  // `none`: the user typed the address.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  const { origin, host } = headers;
  if (origin === undefined) return false;
  return !URL.canParse(String(origin)) || new URL(String(origin)).host !== host;
}
