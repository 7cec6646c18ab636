import { webhooksStep } from '../webhooks/0002-webhooks';
import { deliveriesStep } from './0001-deliveries';
import type { MigrationStep } from './step';

/** Every step, in order. */
export const migrationSteps: readonly MigrationStep[] = [deliveriesStep, webhooksStep];

/** The version that this release of the libraries works with. */
export const currentVersion = migrationSteps.length;
