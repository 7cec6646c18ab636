import type { Type } from '@nestjs/common';
import { DeliveriesOptionsError } from './errors';
import { shown } from './option-rules';

/** Under which each `DeliveriesModule` of an application provides its name, undefined for the one without. */
export const moduleNameToken = Symbol('nest-deliveries module name');

/** Under which each of them provides the path of its operators' routes, where it has any. */
export const adminPathToken = Symbol('nest-deliveries admin path');

/**
 * The token of what one of several `DeliveriesModule`s of an application exports, as in
 * `@Inject(deliveriesToken(DeliveryRecorder, 'billing'))`. What the module without a name exports is injected by its class as well.
 *
 * `app.get(DeliveryRecorder)` may find that of any of them; `app.get(deliveriesToken(DeliveryRecorder))` finds the nameless one's.
 */
export const deliveriesToken = (exported: Type, name?: string): string =>
  `nest-deliveries:${name ?? ''}:${exported.name}`;

/** @throws DeliveriesOptionsError for a name that would not fit into a path */
export function checkModuleName(name: unknown): void {
  if (name === undefined || (typeof name === 'string' && /^[A-Za-z][A-Za-z0-9_-]{0,39}$/.test(name))) return;
  throw new DeliveriesOptionsError(
    'DeliveriesModule: name must be a letter and then up to 39 of A-Z a-z 0-9 _ -; got ' +
      `${shown(name)}. Choose such a name, or leave it out if there is one module.`,
  );
}

/** @throws DeliveriesOptionsError when two modules of an application cannot be told apart */
export function requireOneOfAName(names: readonly (string | undefined)[], name: string | undefined): void {
  if (names.filter((each) => each === name).length < 2) return;
  throw new DeliveriesOptionsError(
    `DeliveriesModule is imported twice ${name === undefined ? 'without a name' : `under the name "${name}"`}. Import it once, in the ` +
      "root module; if a second one is meant, for another database, give it a name of its own: name: 'billing'.",
  );
}

/** @throws DeliveriesOptionsError when the routes of one module hide those of another */
export function requirePathsApart(paths: readonly string[]): void {
  const twice = paths.find((path, index) => paths.indexOf(path) !== index);
  if (twice === undefined) return;
  throw new DeliveriesOptionsError(
    `DeliveriesModule: admin.path is "${twice}" in two modules, and one of them would never be reached. Give each a path of its own, or ` +
      'leave it out.',
  );
}
