/** One message to one destination through one channel, as the channel receives it. */
export interface Delivery<Payload = unknown, Recipient = unknown> {
  /** UUID version 7, the same on every attempt: what a receiver deduplicates on. */
  readonly id: string;
  /** The event that caused it. */
  readonly eventId: string;
  /** The channel's name. */
  readonly channel: string;
  /** Where it goes, in words for operators. */
  readonly destination: string;
  /** Whom it is for, as recorded; null when nothing was given. */
  readonly recipient: Recipient | null;
  /** What to send, as recorded. */
  readonly payload: Payload;
  /** Deliveries of a channel with the same key are sent one at a time, in the order of their commits; null for none. */
  readonly orderingKey: string | null;
  /** Whom it competes for slots with; null for nobody. */
  readonly lane: string | null;
  readonly createdAt: Date;
  /** When an operator last retried it. */
  readonly retriedAt: Date | null;
  /** After this instant nothing sends it. */
  readonly deadline: Date | null;
}

/** One try to send a delivery. */
export interface Attempt {
  /** From 1; never restarts, whatever an operator does. */
  readonly number: number;
  /** Aborts at the deadline of this attempt and when the application has waited long enough to shut down. */
  readonly signal: AbortSignal;
  /** Milliseconds until {@link signal} aborts at the latest. */
  remaining(): number;
  /**
   * Asks the database whether the delivery is still this attempt's to send: its claim was not taken away, its lease and its
   * deadline are not over. For a channel that does something slow before it really sends; what it returns after a `false` is
   * dropped, or counts as an attempt when only the time was over.
   */
  isHeld(): Promise<boolean>;
}

/** Something that happened, as the application tells it to {@link DeliveryRecorder.record}. */
export interface DeliveryEvent<Type extends string = string, Payload = unknown> {
  /** What happened, for example `account_created`: 1 to 200 characters. */
  readonly type: Type;
  /** Which things it happened to: ids, never an address or a secret. Stored with the event. */
  readonly payload?: Payload;
  /** Who did it: 1 to 200 characters. */
  readonly actor?: string;
}
