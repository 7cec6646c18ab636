// Set up
export {
  BackchannelLogoutModule,
  type BackchannelLogoutAsyncOptions,
  type BackchannelLogoutModuleOptions,
} from './backchannel-logout.module';
export type { BackchannelLogoutOptions, LoggedOutClient } from './options/backchannel-logout-options';

// Record
export { isSessionRevoked, sessionRevoked, type SessionRevoked } from './session-revoked';
export { BackchannelLogoutChannel, type LogoutDestination, type LogoutRecipient } from './backchannel-logout.channel';

// Sign
export { logoutClaims, tokenLifetime, type LogoutClaims, type LogoutOccasion } from './token/logout-claims';
export { signLogoutToken } from './token/sign-logout-token';
export { signingAlgorithms, type SigningAlgorithm, type SigningKey } from './token/signing-key';

// Errors
export { BackchannelLogoutOptionsError, SigningKeyError } from './errors';
