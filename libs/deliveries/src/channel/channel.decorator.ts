import { SetMetadata, type Type } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { Attempt, Delivery, DeliveryEvent } from '../delivery/delivery';
import type { DeliveryDraft } from '../delivery/draft';
import type { DraftQuery } from '../delivery/draft-query';
import type { Duration } from '../delivery/duration';
import type { Outcome } from '../delivery/outcome';

/** What a channel says about itself. A deployment can override all but the name in `DeliveriesModule.forRoot`. */
export interface DeliveryChannelOptions extends ChannelSettings {
  /** Stored with each delivery and used in logs, metrics and commands: 1 to 160 of `A-Z a-z 0-9 . _ : -`. */
  readonly name: string;
  /** How long after its creation, or an operator's last retry, a delivery is still worth sending. */
  readonly maxAge: Duration;
  /** Name of the `DeliveriesModule` whose channel it is. Default: the one without a name. */
  readonly module?: string;
}

/** The settings of a channel that have defaults; see `DeliveriesOptions` for the values. */
export interface ChannelSettings {
  readonly maxAge?: Duration;
  /** Workers in each replica, 0 to 100. */
  readonly workers?: number;
  /** Deliveries that each worker has in flight at most, 1 to 10,000. */
  readonly concurrency?: number;
  /** Deadline of one attempt. */
  readonly sendTimeout?: Duration;
  /** How long a claim holds a delivery: at least `sendTimeout` and 5 seconds. */
  readonly lease?: Duration;
  /** Attempts, since the creation or an operator's last retry, after which a delivery fails. Default: only `maxAge` ends it. */
  readonly maxAttempts?: number;
  /** The bounds of the random wait between attempts. */
  readonly retry?: RetrySettings;
  /** How long deliveries are kept after they ended. */
  readonly retention?: RetentionSettings;
  /** How the deliveries of one lane share the slots with the others; says nothing about deliveries without a lane. */
  readonly lane?: LaneSettings;
  /** Whether an operator can retry a cancelled delivery that has no ordering key. Default true. */
  readonly revivesCancelled?: boolean;
}

/** How long deliveries are kept, by how they ended. `'manual'`: for ever, as far as clean-up is concerned. */
export type RetentionSettings =
  | 'manual'
  | {
      readonly succeeded?: Duration | 'manual';
      /** A failed delivery that has an ordering key is kept as long; then its key is abandoned. */
      readonly failed?: Duration | 'manual';
      readonly cancelled?: Duration | 'manual';
    };

export interface LaneSettings {
  /** What a lane gets at most of a replica's slots while another lane waits: above 0, at most 1. Default 0.5. */
  readonly share?: number;
}

export interface RetrySettings {
  /** Bound of the wait after the first attempt; it doubles with each attempt. */
  readonly first?: Duration;
  /** What the bound never exceeds. */
  readonly max?: Duration;
}

/**
 * A channel: which deliveries an event causes, and how one is sent. Implement it on a provider decorated with
 * {@link DeliveryChannel}.
 */
export interface ChannelHandler<Payload = unknown, Recipient = unknown, Event extends DeliveryEvent = DeliveryEvent> {
  /**
   * The deliveries that `event` causes; an empty list for an event that is none of this channel's business; `draftsFrom`
   * for very many. Runs in the
   * caller's transaction: read through `tx`, and only through it. What it throws makes `record` fail.
   */
  deliveries(event: Event, tx: EntityManager): Drafts<Payload, Recipient> | Promise<Drafts<Payload, Recipient>>;

  /**
   * Sends one delivery, outside any transaction. Pass `attempt.signal` on to whatever does the work. May run more than
   * once for one delivery, always with the same `delivery.id`.
   *
   * @returns the outcome; a thrown exception is a retry with its class's name as the kind, or the platform's code if `fetch` failed
   */
  send(delivery: Delivery<Payload, Recipient>, attempt: Attempt): Promise<Outcome>;

  /**
   * Called when a delivery has failed for good, in the transaction that writes the failure. When it throws, that
   * transaction is rolled back and tried again; after three throws the failure is written without it.
   */
  onFailed?(delivery: Delivery<Payload, Recipient>, tx: EntityManager): Promise<void> | void;
}

/** A list of drafts, or a query that produces them. */
export type Drafts<Payload = unknown, Recipient = unknown> = readonly DeliveryDraft<Payload, Recipient>[] | DraftQuery;

const metadataKey = 'nest-deliveries:channel';

/** Makes a provider a delivery channel. It is found wherever it is registered, and whether as a class, a value or by a factory. */
export const DeliveryChannel = (options: DeliveryChannelOptions): ClassDecorator =>
  // Not Injectable() as well: it would take back the scope that an @Injectable({ scope }) beside this decorator declared.
  // `?? {}`: plain JavaScript that forgets the options is told so at start, instead of never being found.
  SetMetadata(metadataKey, options ?? {});

/**
 * The same channel in a `DeliveriesModule` that has a name, for a library that leaves it to the application where its channel
 * belongs: a class of its own, since what a decorator says of a class holds for every application of the process.
 * @param module undefined: the module without a name, and the class itself
 */
export function channelIn<C extends Type<object>>(channelClass: C, module: string | undefined): C {
  if (module === undefined) return channelClass;
  const moved = class extends (channelClass as Type<object>) {};
  Object.defineProperty(moved, 'name', { value: channelClass.name });
  DeliveryChannel({ ...channelOptionsOf(channelClass)!, module })(moved);
  return moved as C;
}

/** What `@DeliveryChannel` was given on this very class, not on one that it extends. */
export const channelOptionsOf = (target: object): DeliveryChannelOptions | undefined =>
  Reflect.getOwnMetadata(metadataKey, target) as DeliveryChannelOptions | undefined;
