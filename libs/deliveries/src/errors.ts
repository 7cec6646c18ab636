import type { DeliveryStatus } from './delivery/status';

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

/** No delivery has this id: it never existed, or clean-up or a purge has deleted it. */
export class DeliveryNotFoundError extends DeliveriesError {
  readonly code = 'DELIVERIES_NOT_FOUND';

  /** @param abandoned clean-up deleted it, a failure too old, and cancelled what waited behind it in its key */
  constructor(
    readonly deliveryId: string,
    readonly abandoned: boolean,
  ) {
    super(
      abandoned
        ? `Delivery ${deliveryId} is gone: it had failed longer ago than failures are kept, so clean-up abandoned its ordering key. Record what is still to be sent again.`
        : `There is no delivery ${deliveryId}. Look for it with list; deliveries are deleted when their retention is over.`,
    );
  }
}

/** The delivery is in a state in which this cannot be done to it. Nothing was changed. */
export class DeliveryStateError extends DeliveriesError {
  readonly code = 'DELIVERIES_STATE';

  /**
   * @param status its state when this was refused
   * @param inFlight whether it was being sent
   * @param reason why, and what can be done
   */
  constructor(
    readonly deliveryId: string,
    readonly operation: 'retry' | 'cancel',
    readonly status: DeliveryStatus,
    readonly inFlight: boolean,
    readonly reason: string,
  ) {
    super(`Delivery ${deliveryId} is ${status}${inFlight ? ' and being sent' : ''}: no ${operation}. ${reason}`);
  }
}

/** An argument of an operation was refused before any SQL ran. */
export class InvalidRequestError extends DeliveriesError {
  readonly code = 'DELIVERIES_INVALID_REQUEST';

  /**
   * @param path which argument
   * @param rule what it must be
   */
  constructor(
    readonly path: string,
    readonly rule: string,
  ) {
    super(`${path} ${rule}. Nothing was done; correct it and try again.`);
  }
}

/** A read took longer than a person would wait, or a change longer than ten seconds, and was ended. */
export class RequestTimeoutError extends DeliveriesError {
  readonly code = 'DELIVERIES_TIMEOUT';

  /** @param limit in ms */
  constructor(
    readonly limit: number,
    options?: ErrorOptions,
  ) {
    super(
      `The database took longer than ${limit / 1_000} s to answer, so the question was withdrawn. Nothing was changed. Ask for less, ` +
        'or try again when it has less to do.',
      options,
    );
  }
}

/** PostgreSQL could not be asked, or did not answer. What a driver itself throws then passes through as it is. */
export class DatabaseUnreachableError extends DeliveriesError {
  readonly code = 'DELIVERIES_DATABASE_UNREACHABLE';
}

/** A purge met deliveries with an ordering key: nothing was erased. */
export class OrderedPurgeError extends DeliveriesError {
  readonly code = 'DELIVERIES_ORDERED_PURGE';

  constructor(
    readonly channel: string,
    readonly ordered: number,
  ) {
    super(
      `Channel "${channel}": ${ordered} of the deliveries to erase have an ordering key, and what is taken out of a sequence cannot be ` +
        'taken back. Nothing was erased. Cancel them one by one; clean-up deletes them when their retention is over.',
    );
  }
}
