import type { Type } from '@nestjs/common';
import {
  type Attempt,
  type ChannelHandler,
  type Delivery,
  DeliveryChannel,
  type DeliveryChannelOptions,
  type DeliveryDraft,
  type Outcome,
  succeeded,
} from 'nest-deliveries';
import { until } from '../../faults/support/facts';
import type { DeliveriesApp } from '../../support/deliveries-app';

/** What an ordered delivery of these tests says. */
export interface Parcel {
  /** Where it stands among those that the test sends to its key. */
  readonly n: number;
  /** Which of the receiver's scripts answers it; without one it is taken. */
  readonly script?: string;
}

/** One attempt, as the receiver saw it. */
export interface Arrival extends Parcel {
  readonly id: string;
  readonly key: string;
  readonly attempt: number;
  readonly startedAt: number;
  /** Undefined while it is in flight. */
  endedAt: number | undefined;
  /** What the receiver answered. */
  outcome: Outcome | undefined;
}

export type Answer = (delivery: Delivery<Parcel>, attempt: Attempt) => Outcome | Promise<Outcome>;

/**
 * A receiver that all replicas of a test send to, and the channel that leads there. Its log is the evidence: what arrived,
 * in which order, and how much of a key was ever in flight at once.
 */
export interface Receiver {
  readonly channel: Type<ChannelHandler<Parcel>>;
  readonly arrivals: Arrival[];
  on(script: string, answer: Answer): void;
  /** What arrived of a key, attempt by attempt. */
  of(key: string): number[];
  /** The same for what the receiver took. */
  taken(key: string): number[];
  inFlight(): Arrival[];
  /** The most that was in flight at once, of the key where it was most. */
  mostInFlightOfAKey(): number;
}

export const unordered = '(no key)';

export function receiver(options: Partial<DeliveryChannelOptions> = {}): Receiver {
  const arrivals: Arrival[] = [];
  const answers = new Map<string, Answer>();
  const flying = new Map<string, number>();
  let most = 0;

  const open = (key: string, change: number): void => {
    const now = (flying.get(key) ?? 0) + change;
    flying.set(key, now);
    if (key !== unordered) most = Math.max(most, now);
  };

  @DeliveryChannel({ name: 'parcels', maxAge: '1d', ...options })
  class Parcels implements ChannelHandler<Parcel> {
    deliveries(): DeliveryDraft<Parcel>[] {
      return [];
    }

    async send(delivery: Delivery<Parcel>, attempt: Attempt): Promise<Outcome> {
      const key = delivery.orderingKey ?? unordered;
      const arrival: Arrival = {
        id: delivery.id,
        key,
        ...delivery.payload,
        attempt: attempt.number,
        startedAt: performance.now(),
        endedAt: undefined,
        outcome: undefined,
      };
      arrivals.push(arrival);
      open(key, 1);
      try {
        const answer = answers.get(delivery.payload.script ?? '');
        // Even the fastest receiver answers in a later turn of the event loop: others get in between.
        arrival.outcome = await (answer
          ? answer(delivery, attempt)
          : new Promise<Outcome>((r) => setImmediate(() => r(succeeded()))));
        return arrival.outcome;
      } finally {
        open(key, -1);
        arrival.endedAt = performance.now();
      }
    }
  }

  const of = (key: string): Arrival[] => arrivals.filter((arrival) => arrival.key === key);
  return {
    channel: Parcels,
    arrivals,
    on: (script, answer) => void answers.set(script, answer),
    of: (key) => of(key).map(({ n }) => n),
    taken: (key) =>
      of(key)
        .filter(({ outcome }) => outcome?.type === 'succeeded')
        .map(({ n }) => n),
    inFlight: () => arrivals.filter(({ endedAt }) => endedAt === undefined),
    mostInFlightOfAKey: () => most,
  };
}

/** Parcels 1 to `count`, of which some follow a script. */
export const parcels = (count: number, scripts: Record<number, string> = {}): Parcel[] =>
  Array.from({ length: count }, (_, index) => {
    const script = scripts[index + 1];
    return { n: index + 1, ...(script === undefined ? {} : { script }) };
  });

/** Commits parcels to one key in one transaction and gives their ids. Wakes nobody. */
export async function commit(
  app: Pick<DeliveriesApp, 'recorder'>,
  { channel }: Receiver,
  key: string | undefined,
  ...given: readonly Parcel[]
): Promise<string[]> {
  const drafts = given.map((payload) => draft(key, payload));
  const recorded = await app.recorder.transaction((tx) => app.recorder.enqueue(tx, channel, drafts));
  return recorded.map(({ id }) => id);
}

export const draft = (orderingKey: string | undefined, payload: Parcel): DeliveryDraft<Parcel> => ({
  destination: 'test',
  payload,
  ...(orderingKey === undefined ? {} : { orderingKey }),
});

/** Waits until exactly these attempts of a key have arrived, in this order. */
export async function arrived(to: Receiver, key: string, ...ns: number[]): Promise<void> {
  await until(`${ns.join(', ')} arrived of ${key}`, () => JSON.stringify(to.of(key)) === JSON.stringify(ns));
}

let probes = 0;

/**
 * Resolves when workers have looked at every key since now: a parcel to the last key of all has arrived, twice. A key in
 * front of it that had something to send would have had its turn.
 */
export async function everyKeyWasLookedAt(app: DeliveriesApp, to: Receiver): Promise<void> {
  for (let round = 0; round < 2; round += 1) {
    probes += 1;
    const [id] = await commit(app, to, `~probe ${probes}`, { n: probes });
    app.workers.wake();
    await until('the probe has arrived', () => to.arrivals.some((arrival) => arrival.id === id));
  }
}
