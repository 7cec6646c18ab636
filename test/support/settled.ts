import type { OutcomeToWrite } from '../../libs/deliveries/src/settle/settle-statement';
import type { Settled, Settler } from '../../libs/deliveries/src/settle/settler';

/** Hands an outcome to a settler and waits for what becomes of it. */
export const settled = (settler: Settler, outcome: OutcomeToWrite): Promise<Settled> =>
  new Promise((resolve) => settler.settle(outcome, resolve));
