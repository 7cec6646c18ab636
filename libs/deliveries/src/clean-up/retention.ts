import type { DeliveryStatus } from '../delivery/status';

const day = 86_400_000;

/** Clean-up leaves these to whoever deletes them by hand. */
export const manual = 'manual';

/** The ways in which a delivery ends. */
export const endings = ['succeeded', 'failed', 'cancelled'] as const satisfies readonly DeliveryStatus[];

export type Ending = (typeof endings)[number];

/** How long deliveries are kept after they ended, in ms, by how they ended. */
export type Retention = Readonly<Record<Ending, number | typeof manual>>;

/** When a delivery is deleted, unless the module's options or its channel say otherwise. */
export const defaultRetention: Retention = { succeeded: 7 * day, failed: 30 * day, cancelled: 30 * day };

/** How long an event is kept after its last delivery was deleted, or after it occurred if it caused none, in ms. */
export const eventRetention = 30 * day;

/** How long what operators did, and which keys were abandoned, is remembered, in ms. */
export const auditRetention = 400 * day;

/**
 * How long nothing was recorded under an ordering key before its row goes, in ms. A key that comes back starts at the
 * clock: one that is set back by less than this gives no ordinal out twice.
 */
export const orderingIdleTime = day;

/** One thing that a pass does, batch by batch. */
export type CleanUpStep =
  | {
      readonly do: 'delete';
      readonly channel: string;
      readonly ending: Ending;
      /** In ms since it ended. */
      readonly after: number;
    }
  | {
      readonly do: 'abandon';
      readonly channel: string;
      /** In ms since the first of the key failed. */
      readonly after: number;
    };

/**
 * What there is to do for the deliveries of the channels that this process knows; others are left alone. A failed delivery that
 * has an ordering key is not just deleted, which would send what waits behind it out of turn: its key is abandoned.
 */
export function cleanUpSteps(channels: readonly { name: string; retention: Retention }[]): CleanUpStep[] {
  return channels.flatMap(({ name: channel, retention }) =>
    endings.flatMap((ending): CleanUpStep[] => {
      const after = retention[ending];
      if (after === manual) return [];
      const deletion = { do: 'delete', channel, ending, after } as const;
      return ending === 'failed' ? [deletion, { do: 'abandon', channel, after }] : [deletion];
    }),
  );
}
