/** Base of every error that this library throws on purpose: `code` is stable, the message says what to do. */
export abstract class WebhookError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A value was refused before anything was done with it. The message never repeats it: it may be a secret. */
export class WebhookInputError extends WebhookError {
  readonly code = 'WEBHOOK_INPUT';

  /**
   * @param subject what was refused, for example `signing key`
   * @param rule what it must be
   */
  constructor(
    readonly subject: string,
    readonly rule: string,
  ) {
    super(`The ${subject} must be ${rule}. Nothing was done; correct it and try again.`);
  }
}

/** Options that cannot work, or that are not those with which a namespace was first opened. Nothing is sent. */
export class WebhookConfigurationError extends WebhookError {
  readonly code = 'WEBHOOK_CONFIGURATION';
}

/** The clock that was given is none: before 1970, or within a week of the year 10000. */
export class WebhookClockError extends WebhookError {
  readonly code = 'WEBHOOK_CLOCK';

  constructor() {
    super('The clock must give milliseconds since 1970, up to a week before the year 10000. Nothing was verified.');
  }
}

/** What arrived is not what a key of ours signed. One error for every reason, so that a forger learns nothing from it. */
export class WebhookSignatureError extends WebhookError {
  readonly code = 'WEBHOOK_SIGNATURE';

  constructor() {
    super('The signature is missing, malformed, too old or wrong. Nothing was accepted.');
  }
}

/** The event key is retained with another kind or other bytes. Nothing was recorded, and the transaction is usable. */
export class WebhookConflictError extends WebhookError {
  readonly code = 'WEBHOOK_CONFLICT';

  /** @param messageId the message that holds the key */
  constructor(
    readonly namespace: string,
    readonly messageId: string,
  ) {
    super(
      `Namespace "${namespace}" retains message ${messageId} under this event key, with another kind or other bytes. Use a key that ` +
        'changes whenever the content does.',
    );
  }
}

/** A namespace retains as many events as its quota allows, ended ones included. The transaction is usable. */
export class WebhookCapacityError extends WebhookError {
  readonly code = 'WEBHOOK_CAPACITY';

  constructor(
    readonly namespace: string,
    readonly quota: number,
  ) {
    super(
      `Namespace "${namespace}" retains ${quota} events, which is its quota. Nothing was recorded. Delete what has ended with ` +
        'purgeTerminal, or open a namespace with a larger quota.',
    );
  }
}

/** Another transaction held the namespace's quota for ten seconds. Nothing was recorded, and the transaction is usable. */
export class WebhookBusyError extends WebhookError {
  readonly code = 'WEBHOOK_BUSY';

  constructor(readonly namespace: string) {
    super(
      `Namespace "${namespace}": a transaction that enqueued has not ended for 10 s, and others wait for it. Nothing was recorded; try ` +
        'again, and enqueue last in long transactions.',
    );
  }
}

/**
 * The receiver accepted a message, and that could not be written down: the claim was taken away meanwhile (cancelled, or its
 * lease ended), or the database did not answer. It may be sent again, with the same id.
 */
export class WebhookAcknowledgementError extends WebhookError {
  readonly code = 'WEBHOOK_ACKNOWLEDGEMENT';

  /** @param status what the receiver answered, 200 to 299 */
  constructor(
    readonly messageId: string,
    readonly status: number,
  ) {
    super(
      `Message ${messageId} was accepted with status ${status}, but that could not be recorded: it was cancelled meanwhile, or may be ` +
        'sent again. The receiver tells duplicates by the id.',
    );
  }
}

/** The claim was taken away while the message was being sent, and the receiver did not accept it. Nothing was written down. */
export class WebhookClaimLostError extends WebhookError {
  readonly code = 'WEBHOOK_CLAIM_LOST';

  constructor(readonly messageId: string) {
    super(
      `Message ${messageId} was cancelled, or claimed by somebody else, while it was being sent; the receiver did not accept it. Its ` +
        'outcome was dropped.',
    );
  }
}

/** There is no such message in this namespace, or no such endpoint: it never existed, or was deleted. */
export class WebhookNotFoundError extends WebhookError {
  readonly code = 'WEBHOOK_NOT_FOUND';

  constructor(readonly subject: string) {
    super(`There is no ${subject}: it never existed here, or it was deleted. Look for it among those that there are.`);
  }
}

/** The state of a message or of an endpoint does not allow this. Nothing was changed. */
export class WebhookStateError extends WebhookError {
  readonly code = 'WEBHOOK_STATE';
}

/** The outbox was closed in this process. */
export class WebhookClosedError extends WebhookError {
  readonly code = 'WEBHOOK_CLOSED';

  constructor(readonly namespace: string) {
    super(`The outbox of namespace "${namespace}" was closed in this process. Open it again to use it.`);
  }
}
