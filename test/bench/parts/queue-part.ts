import { ratio, takeTurns, type Line, type Measurement, type Part, type Run } from '../part';
import type { Order } from '../queue/stage';

export interface OrderedLine extends Omit<Line, 'contenders'> {
  readonly contenders: Readonly<Record<string, Order>>;
}

/** The median of a figure of one contender by that of another. */
export type RatioOf = (what: string, figure: string, above: string, below: string) => number;

export const perSecond = { rate: '/s' };

/** A part whose contenders each run in a process and a database of their own. */
export function queuePart(
  name: string,
  about: string,
  lines: (run: Run) => readonly OrderedLine[],
  ratios: (of: RatioOf) => Record<string, number> = () => ({}),
): Part {
  return {
    name,
    about,
    async run(run) {
      const stage = await run.stage();
      const measured: Measurement[] = [];
      for (const line of lines(run)) {
        const contenders = Object.entries(line.contenders).map(([contender, order]) => [
          contender,
          () => stage.measure(order),
        ]);
        measured.push(...(await takeTurns({ ...line, contenders: Object.fromEntries(contenders) }, run)));
      }
      return { measured, ratios: ratios((...args) => ratio(measured, ...args)) };
    },
  };
}

/** The same order for each of several contenders. */
export const each = (contenders: readonly string[], order: Omit<Order, 'contender'>): OrderedLine['contenders'] =>
  Object.fromEntries(contenders.map((contender) => [contender, { contender, ...order }]));
