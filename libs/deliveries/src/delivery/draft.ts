/**
 * A delivery that a channel asks for. It is copied when it is recorded: changing or deleting what it was made from
 * neither changes nor loses the delivery.
 */
export interface DeliveryDraft<Payload = unknown, Recipient = unknown> {
  /** The delivery's own id, a new UUID version 7, for a payload that is sealed under it. Default: one is made. */
  readonly id?: string;
  /** Where it goes, in words for operators: 1 to 500 characters. Shown in lists and logs, so no secret belongs in it. */
  readonly destination: string;
  /** All that a send needs, as JSON of at most 256 KiB. Stored as it is: never a plaintext secret. */
  readonly payload: Payload;
  /** Whom it is for, so that a purge finds it: JSON of at most 2 KiB. */
  readonly recipient?: Recipient;
  /**
   * Deliveries of this channel with the same key are sent one at a time, in the order in which their transactions commit.
   * 1 to 255 characters. One that waits for its retry, or failed, holds back those behind it.
   */
  readonly orderingKey?: string;
  /**
   * Whom it competes for the channel's slots with, such as an endpoint's or a client's id: 1 to 255 characters. While another
   * lane waits, a lane gets no more than its share of them; a receiver that asks to be left alone holds its whole lane. Never
   * a bare host, which tenants may share.
   */
  readonly lane?: string;
  /** Not sent before this instant. Only without an `orderingKey`: a time of its own would hold back its whole key. */
  readonly notBefore?: Date;
  /** Not sent after this instant, not even when an operator retries it. */
  readonly deadline?: Date;
  /**
   * A second delivery of this channel with the same key, while the first is retained, inserts nothing. 1 to 255
   * characters.
   */
  readonly dedupeKey?: string;
  /**
   * What to compare in the place of the payload when a `dedupeKey` is met again, for channels whose payloads are sealed
   * and so differ each time: 1 to 128 characters.
   */
  readonly dedupeDigest?: string;
}
