/** What is read of a request: Express's and Fastify's both have it. */
export interface IncomingRequest {
  readonly method: string;
  readonly url: string;
  /** Express: the address before routers took parts of it off. */
  readonly originalUrl?: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
}

export const addressOf = ({ originalUrl, url }: IncomingRequest): string => originalUrl ?? url;

const pathOf = (request: IncomingRequest): string => addressOf(request).split('?', 1)[0]!;

export const queryOfRequest = (request: IncomingRequest): URLSearchParams =>
  new URLSearchParams(addressOf(request).split('?').slice(1).join('?'));

/**
 * The way from a page back to the dashboard's own address, to put before every link. Links are relative, so that they hold
 * behind any prefix: the application's, a version's, or one that a proxy takes off and nobody here knows.
 *
 * @param depth how many parts the page's path has below the dashboard's own address
 */
export function rootOf(request: IncomingRequest, depth: number): string {
  // Routers take `…/overview/` for `…/overview`, and browsers count the empty part.
  const steps = depth - 1 + (pathOf(request).endsWith('/') ? 1 : 0);
  return steps === 0 ? './' : '../'.repeat(steps);
}

/** The way from the dashboard's own address, which does not end with a slash for most of those who ask for it. */
export function baseOf(request: IncomingRequest): string {
  const path = pathOf(request);
  return path.endsWith('/') ? './' : `./${path.slice(path.lastIndexOf('/') + 1)}/`;
}

export function headerOf({ headers }: IncomingRequest, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

export function cookieOf(request: IncomingRequest, name: string): string | undefined {
  const cookies = (headerOf(request, 'cookie') ?? '').split(/; */);
  return cookies.find((cookie) => cookie.startsWith(`${name}=`))?.slice(name.length + 1);
}

/** The fields of a form that was sent; a field that stands in it several times keeps all its values. */
export function formOf({ body }: IncomingRequest): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries((body as Record<string, unknown> | undefined) ?? {})) {
    for (const each of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (typeof each === 'string') form.append(name, each);
    }
  }
  return form;
}
