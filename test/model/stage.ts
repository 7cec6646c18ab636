import { QueueModel, type NewDelivery } from './queue-model';
import type { Tables } from './tables';
import { Violation } from './violation';
import type { World } from './world';

/** A step that does not end in this many ms hangs. */
export const patience = 20_000;

/** What all steps of a history share. */
export class Stage {
  readonly model = new QueueModel();
  /** What happened, in words. */
  readonly log: string[] = [];
  /** Recorded events that the tables must hold, each as the deliveries that it caused. */
  noted: number[][] = [];
  /** Events about operators and abandonment: type, actor, delivery. */
  readonly audit: string[] = [];
  /** The tables as they were after the last step. */
  tables: Tables = { deliveries: [], events: [], orderings: [] };

  constructor(readonly world: World) {}

  say(words: string): void {
    this.log.push(words);
    if (process.env.MODEL_LOG) process.stderr.write(`${words}\n`);
  }

  name(n: number): string {
    return nameOf(this.model.of(n));
  }
}

export const nameOf = ({ n, channel, key }: Pick<NewDelivery, 'n' | 'channel' | 'key'>): string =>
  `#${n} ${channel}${key === null ? '' : `/${key}`}`;

export const choose = <T>(from: readonly T[], pick: number): T | undefined => from[pick % Math.max(1, from.length)];

export async function within<T>(step: Promise<T>, what: string): Promise<T> {
  let timer!: NodeJS.Timeout;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Violation('a step hangs', what)), patience);
  });
  try {
    return await Promise.race([step, late]);
  } finally {
    clearTimeout(timer);
  }
}
