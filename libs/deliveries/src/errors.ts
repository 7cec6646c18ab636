/** Base of every error that this library throws on purpose: `code` is stable, the message says what to do. */
export abstract class DeliveriesError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An option is missing, unknown or out of range. Thrown at start, never later. */
export class DeliveriesOptionsError extends DeliveriesError {
  readonly code = 'DELIVERIES_OPTIONS';
}

/** A class decorated with `@DeliveryChannel` cannot work as it stands. Thrown at start and names the class. */
export class ChannelDefinitionError extends DeliveriesError {
  readonly code = 'DELIVERIES_CHANNEL_DEFINITION';
}

/** The tables are missing or older than this version needs. Thrown at start. */
export class SchemaBehindError extends DeliveriesError {
  readonly code = 'DELIVERIES_SCHEMA_BEHIND';
}

/** `record`, `enqueue` or another call that belongs in the caller's transaction was given no open transaction. */
export class TransactionRequiredError extends DeliveriesError {
  readonly code = 'DELIVERIES_TRANSACTION_REQUIRED';
}

/** An event or a draft was refused before any SQL ran: the caller's transaction is still usable. */
export class InvalidDraftError extends DeliveriesError {
  readonly code = 'DELIVERIES_INVALID_DRAFT';

  /**
   * @param path where the bad value is, for example `payload.items[2].price`
   * @param rule what that value must be
   */
  constructor(
    readonly path: string,
    readonly rule: string,
    subject: string,
  ) {
    super(`${subject}: ${path} ${rule}. Nothing was recorded; correct the value and record again.`);
  }
}

/** A delivery with this `dedupeKey` is retained and was made from another payload. Nothing was inserted. */
export class DedupeConflictError extends DeliveriesError {
  readonly code = 'DELIVERIES_DEDUPE_CONFLICT';

  /** @param deliveryId the retained delivery that holds the key */
  constructor(
    readonly channel: string,
    readonly dedupeKey: string,
    readonly deliveryId: string,
  ) {
    super(
      `Channel "${channel}" already has delivery ${deliveryId} under this dedupeKey, with a different payload. ` +
        'Use a key that changes whenever the content does, or leave the first delivery as it is.',
    );
  }
}

/** The row that held a dedupe key vanished each time it was looked for. */
export class DedupeUnsettledError extends DeliveriesError {
  readonly code = 'DELIVERIES_DEDUPE_UNSETTLED';

  constructor(channel: string, tries: number) {
    super(`Channel "${channel}": a dedupeKey was taken and given up ${tries} times while it was recorded. Try again.`);
  }
}

/** `enqueue` was given a class that is not a channel of this application. */
export class UnknownChannelError extends DeliveriesError {
  readonly code = 'DELIVERIES_UNKNOWN_CHANNEL';
}
