import {
  Controller,
  UseGuards,
  UseInterceptors,
  VERSION_NEUTRAL,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { adminPathToken } from '../../module-name';
import { resolveAdminOptions, type AdminOptions, type ResolvedAdminOptions } from './admin-options';
import { DeliveriesAdminController } from './api/admin.controller';
import { ApiTags } from './api/open-api';
import { dashboardController } from '../dashboard/dashboard.controller';
import { EntranceGuard } from './entrance.guard';
import { ErrorsInterceptor } from './errors.interceptor';
import { Operators } from './operators';

/**
 * What the options add to the module.
 * @param module the module's name, where it has one: an application may have several, each with routes
 * @throws DeliveriesOptionsError
 */
export function adminParts(
  options: AdminOptions,
  module: string | undefined,
): Required<Pick<ModuleMetadata, 'imports' | 'controllers' | 'providers'>> {
  const resolved = resolveAdminOptions(options, `admin/${tagOf(module)}`);
  return {
    imports: resolved.imports,
    controllers: [
      ...(resolved.api ? [guardedController(resolved, module)] : []),
      ...(resolved.dashboard ? [dashboardController(resolved)] : []),
    ],
    providers: [
      { provide: Operators, useValue: new Operators(resolved) },
      { provide: adminPathToken, useValue: resolved.path },
    ],
  };
}

/** A class of its own for each application: two in one process may have other guards and other paths. */
function guardedController({ path, guards }: ResolvedAdminOptions, module: string | undefined): Type {
  class GuardedAdminController extends DeliveriesAdminController {}
  // The ids of operations are made of it, and OpenAPI wants each of them once in a document.
  const name = ['DeliveriesAdminController', ...(module === undefined ? [] : [module])].join('_');
  Object.defineProperty(GuardedAdminController, 'name', { value: name });
  for (const decorate of [
    ApiTags(tagOf(module)),
    // Reached whatever the application's versions are.
    Controller({ path: `${path}/api`, version: VERSION_NEUTRAL }),
    UseGuards(EntranceGuard, ...guards),
    UseInterceptors(ErrorsInterceptor),
  ]) {
    decorate(GuardedAdminController);
  }
  return GuardedAdminController;
}

const tagOf = (module: string | undefined): string => (module === undefined ? 'deliveries' : `deliveries-${module}`);
