import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { DeliveriesOptionsError } from '../../errors';
import { refuseUnknown } from '../../option-rules';

/**
 * The operators' routes: the JSON API and the dashboard. Without these options there is no route at all.
 *
 * A request is whatever the host's platform makes of it: an Express or a Fastify request.
 */
export interface AdminOptions {
  /** Who may come in: Nest guards, at least one. Every route asks each of them, also those that only read. */
  readonly guards: readonly (Type<CanActivate> | CanActivate)[];
  /** Modules whose providers the guards inject, unless those are global. */
  readonly imports?: ModuleMetadata['imports'];
  /** Path of the dashboard, below the application's global prefix; the JSON API is at `api` below it. Default `admin/deliveries`, or `admin/deliveries-<name>` of a module that has a name. */
  readonly path?: string;
  /** Who does what a request asks for; it is recorded. Default: the request's `user`, by its `email`, `username`, `name`, `id` or `sub`. */
  readonly actor?: (request: any) => string | Promise<string>;
  /** Whether this request may see payloads and recipients. Default: nobody may. */
  readonly canSeePayload?: (request: any) => boolean | Promise<boolean>;
  /** The JSON API. Default true. */
  readonly api?: boolean;
  /** The dashboard. Default true. */
  readonly dashboard?: boolean;
}

/** The options with their defaults. */
export type ResolvedAdminOptions = Required<Omit<AdminOptions, 'actor'>> & Pick<AdminOptions, 'actor'>;

const names = ['guards', 'imports', 'path', 'actor', 'canSeePayload', 'api', 'dashboard'] as const;

const segment = /^[A-Za-z0-9._~-]+$/;

/** @throws DeliveriesOptionsError that says which option, the rule and what to do */
export function resolveAdminOptions(options: AdminOptions, defaultPath: string): ResolvedAdminOptions {
  refuseUnknown('DeliveriesModule: admin', options, names);
  const { guards, imports = [], path = defaultPath, actor, canSeePayload = () => false } = options;
  if (!Array.isArray(guards) || guards.length === 0 || !guards.every(isGuard)) {
    throw refused(
      'guards must be a list of at least one Nest guard. Without one, everybody who reaches the application could cancel its ' +
        'deliveries: write guards: [YourAdminGuard]',
    );
  }
  const parts = typeof path === 'string' ? path.replace(/^\/|\/$/g, '').split('/') : [];
  if (parts.length === 0 || !parts.every((part) => segment.test(part))) {
    throw refused(
      "path must be plain segments with slashes between them: write, for example, path: 'admin/deliveries'",
    );
  }
  for (const [name, value] of Object.entries({ actor, canSeePayload })) {
    if (value === undefined || typeof value === 'function') continue;
    throw refused(`${name} must be a function of the request: write ${name}: (request) => …`);
  }
  const { api = true, dashboard = true } = options;
  for (const [name, value] of Object.entries({ api, dashboard })) {
    if (typeof value !== 'boolean') throw refused(`${name} must be true or false: set it to one of them`);
  }
  return { guards, imports, path: parts.join('/'), actor, canSeePayload, api, dashboard };
}

const isGuard = (guard: unknown): boolean =>
  typeof guard === 'function' || typeof (guard as Partial<CanActivate> | null)?.canActivate === 'function';

const refused = (rule: string): DeliveriesOptionsError =>
  new DeliveriesOptionsError(`DeliveriesModule: admin: ${rule}.`);
