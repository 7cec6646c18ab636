import type { CanActivate, Type } from '@nestjs/common';

/**
 * The operators' routes: the JSON API and the dashboard. Without these options there is no route at all.
 *
 * A request is whatever the host's platform makes of it: an Express or a Fastify request.
 */
export interface AdminOptions {
  /** Who may come in: Nest guards, at least one. Every route asks each of them, also those that only read. */
  readonly guards: readonly (Type<CanActivate> | CanActivate)[];
  /** Path of the routes, below the application's global prefix. Default `admin/deliveries`. */
  readonly path?: string;
  /** Who does what a request asks for; it is recorded. Default: a request's `user`, by its `email`, `username`, `name`, `id` or `sub`. */
  readonly actor?: (request: never) => string | Promise<string>;
  /** Whether this request may see payloads and recipients. Default: nobody may. */
  readonly canSeePayload?: (request: never) => boolean | Promise<boolean>;
  /** The JSON API. Default true. */
  readonly api?: boolean;
  /** The dashboard. Default true. */
  readonly dashboard?: boolean;
}
