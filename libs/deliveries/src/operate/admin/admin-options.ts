import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { flag, refused, refuseUnknown } from '../../option-rules';

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

/** Every option of the routes with its default, as the options table in the docs has it. */
export const adminOptionDefaults = {
  guards: 'none: required',
  imports: 'none',
  path: "'admin/deliveries', or 'admin/deliveries-<name>'",
  actor: "the request's `user`, by its `email`, `username`, `name`, `id` or `sub`",
  canSeePayload: 'nobody',
  api: 'true',
  dashboard: 'true',
} as const satisfies Record<keyof AdminOptions, string>;

const subject = 'DeliveriesModule: admin';
const segment = /^[A-Za-z0-9._~-]+$/;

/** @throws DeliveriesOptionsError that says which option, the rule and what to do */
export function resolveAdminOptions(options: AdminOptions, defaultPath: string): ResolvedAdminOptions {
  refuseUnknown(subject, options, Object.keys(adminOptionDefaults));
  const { guards, imports = [], path = defaultPath, actor, canSeePayload = () => false } = options;
  if (!Array.isArray(guards) || guards.length === 0 || !guards.every(isGuard)) {
    const advice =
      'Without one, everybody who reaches the application could cancel its deliveries: write guards: [YourAdminGuard]';
    throw refused(subject, 'guards', 'must be a list of at least one Nest guard', guards, advice);
  }
  if (!Array.isArray(imports)) {
    throw refused(subject, 'imports', 'must be a list of modules', imports, 'Write imports: [YourAuthModule]');
  }
  const parts = typeof path === 'string' ? path.replace(/^\/|\/$/g, '').split('/') : [];
  if (parts.length === 0 || !parts.every((part) => segment.test(part))) {
    const advice = "Write, for example, path: 'admin/deliveries'";
    throw refused(subject, 'path', 'must be plain segments with slashes between them', path, advice);
  }
  for (const [name, value] of Object.entries({ actor, canSeePayload })) {
    if (value === undefined || typeof value === 'function') continue;
    throw refused(subject, name, 'must be a function of the request', value, `Write ${name}: (request) => …`);
  }
  const api = flag(subject, 'api', options.api ?? true);
  const dashboard = flag(subject, 'dashboard', options.dashboard ?? true);
  return { guards, imports, path: parts.join('/'), actor, canSeePayload, api, dashboard };
}

const isGuard = (guard: unknown): boolean =>
  typeof guard === 'function' || typeof (guard as Partial<CanActivate> | null)?.canActivate === 'function';
