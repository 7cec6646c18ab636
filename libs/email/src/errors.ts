import { DeliveriesError } from 'nest-deliveries';

/** An option of `EmailModule` is missing, unknown or out of range. Thrown at start, never later. */
export class EmailOptionsError extends DeliveriesError {
  readonly code = 'EMAIL_OPTIONS';
}

/** A message kind cannot work as it was declared. Thrown where it is declared. */
export class EmailKindError extends DeliveriesError {
  readonly code = 'EMAIL_KIND';
}

/** Templates and message kinds do not fit each other. Thrown at start; the message has a line for each problem. */
export class EmailTemplateError extends DeliveriesError {
  readonly code = 'EMAIL_TEMPLATES';
}

/** One message cannot be made: its recipient or a value in it is not what it must be. The value itself is never in the text. */
export class InvalidEmailError extends DeliveriesError {
  readonly code = 'EMAIL_INVALID';

  /**
   * @param path which part: `to`, `content.link`, `unsubscribe`
   * @param rule what it must be
   */
  constructor(
    readonly path: string,
    readonly rule: string,
  ) {
    super(`This email cannot be made: ${path} ${rule}.`);
  }
}
