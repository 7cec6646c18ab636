/** An option is missing, unknown or malformed. Thrown at start, never later: which option, its rule, what was given, what to do. */
export class BackchannelLogoutOptionsError extends Error {
  override readonly name = 'BackchannelLogoutOptionsError';
  readonly code = 'BACKCHANNEL_LOGOUT_OPTIONS';
}

/** `signingKey` gave something that relying parties could not verify. At start it stops the application; later, the attempt is retried. */
export class SigningKeyError extends Error {
  override readonly name = 'SigningKeyError';
  readonly code = 'BACKCHANNEL_LOGOUT_SIGNING_KEY';
}
