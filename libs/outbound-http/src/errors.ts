export type InvalidRequestCode =
  'INVALID_METHOD' | 'INVALID_BODY' | 'INVALID_HEADER' | 'FORBIDDEN_HEADER' | 'INVALID_TIMEOUT' | 'INVALID_PROFILE';

/** A request that its caller has to mend; nothing was resolved or sent. The message says what to do. */
export class InvalidRequestError extends Error {
  override readonly name = 'InvalidRequestError';

  constructor(
    readonly code: InvalidRequestCode,
    message: string,
  ) {
    super(`Cannot send: ${message}`);
  }
}

/** Options that the client does not start with: which option, its rule, what was given, what to do. */
export class InvalidOptionsError extends Error {
  override readonly name = 'InvalidOptionsError';
  readonly code = 'INVALID_OPTIONS';

  constructor(message: string) {
    super(`OutboundHttp cannot start: ${message}`);
  }
}
