import {
  Controller,
  UseGuards,
  UseInterceptors,
  VERSION_NEUTRAL,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { resolveAdminOptions, type AdminOptions, type ResolvedAdminOptions } from './admin-options';
import { DeliveriesAdminController } from './api/admin.controller';
import { dashboardController } from '../dashboard/dashboard.controller';
import { EntranceGuard } from './entrance.guard';
import { ErrorsInterceptor } from './errors.interceptor';
import { Operators } from './operators';

/**
 * What the options add to the module; nothing without them: no guard, no route.
 * @param defaultPath where the routes are unless the options say so
 * @throws DeliveriesOptionsError
 */
export function adminParts(
  options: AdminOptions | undefined,
  defaultPath: string,
): Pick<ModuleMetadata, 'imports' | 'controllers' | 'providers'> {
  if (options === undefined) return {};
  const resolved = resolveAdminOptions(options, defaultPath);
  return {
    imports: resolved.imports,
    controllers: [
      ...(resolved.api ? [guardedController(resolved)] : []),
      ...(resolved.dashboard ? [dashboardController(resolved)] : []),
    ],
    providers: [{ provide: Operators, useValue: new Operators(resolved) }],
  };
}

/** A class of its own for each application: two in one process may have other guards and other paths. */
function guardedController({ path, guards }: ResolvedAdminOptions): Type {
  class GuardedAdminController extends DeliveriesAdminController {}
  for (const decorate of [
    // Reached whatever the application's versions are.
    Controller({ path: `${path}/api`, version: VERSION_NEUTRAL }),
    UseGuards(EntranceGuard, ...guards),
    UseInterceptors(ErrorsInterceptor),
  ]) {
    decorate(GuardedAdminController);
  }
  return GuardedAdminController;
}
