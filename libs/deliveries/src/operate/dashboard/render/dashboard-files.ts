import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DeliveriesOptionsError } from '../../../errors';

const folder = join('templates', 'dashboard');

/**
 * Where the templates are: in the nearest folder above this file that has them. Sources, a build and an installed package lie at
 * different depths below it.
 * @throws DeliveriesOptionsError when they were not shipped along
 */
export function dashboardFolder(from: string = __dirname): string {
  for (let above = from; ; above = dirname(above)) {
    if (existsSync(join(above, folder, 'layout.hbs'))) return join(above, folder);
    if (dirname(above) === above) break;
  }
  throw new DeliveriesOptionsError(
    'DeliveriesModule: admin.dashboard needs the folder templates/dashboard of this package, and it is not beside its code. ' +
      'Leave the package out of your bundle, copy the folder along, or set admin: { dashboard: false }.',
  );
}

export const readDashboardFile = (...path: string[]): string => readFileSync(join(dashboardFolder(), ...path), 'utf8');
