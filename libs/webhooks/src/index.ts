// Set up
export { WebhooksModule, type WebhooksAsyncOptions } from './webhooks.module';
export {
  webhooksOptionDefaults,
  type EndpointOptions,
  type OutboxOptions,
  type WebhooksOptions,
} from './webhooks.options';

// Sign and verify
export { WebhookSigningKey, type SignedMessage } from './sign/signing-key';
export { WebhookSignature, type SignedHeaders } from './sign/webhook-signature';
export {
  StandardPrivateKey,
  StandardPublicKey,
  StandardSecret,
  type StandardSigner,
  type StandardVerifier,
} from './sign/standard-keys';
export { signStandard, verifyStandard, type StandardMessage } from './sign/standard';

// Send to destinations of your own
export { WebhookOutboxes } from './outbox/webhook-outboxes';
export { WebhookOutbox, type FailedEvent } from './outbox/webhook-outbox';
export type { Enqueued } from './outbox/record-event';
export { WebhookConfig, type WebhookConfigOptions } from './outbox/webhook-config';
export { WebhookDestination } from './outbox/destination';
export type { Dispatched } from './outbox/dispatched';
export type { WebhookScheme } from './send/signing';

// Send to tenants' endpoints
export { testKind, WebhookEndpoints, type NewEndpoint } from './endpoint/webhook-endpoints';
export type { CountedRetryOptions, FailedRange } from './endpoint/failed-range';
export { EndpointChannel, type MessagesOf, type TenantMessage } from './endpoint/endpoint.channel';
export type { DisabledReason, WebhookEndpoint } from './endpoint/endpoint-row';
export type { EndpointScheme, ShownSecrets } from './endpoint/endpoint-secrets';

// Receive
export { Received, VerifyWebhook, WebhookGuard } from './receive/verify-webhook';
export { WebhookReceivers } from './receive/webhook-receivers';
export { WebhookReceipts } from './receive/webhook-receipts';
export { WebhookVerifier, type ReceivedMessage, type WebhookVerifierOptions } from './receive/webhook-verifier';

// Store
export { WebhookKeyring, SealBrokenError, type Sealed } from './seal/keyring';
export { WebhookStorageKey } from './seal/storage-key';

// Errors
export {
  WebhookAcknowledgementError,
  WebhookBusyError,
  WebhookCapacityError,
  WebhookClaimLostError,
  WebhookClockError,
  WebhookClosedError,
  WebhookConfigurationError,
  WebhookConflictError,
  WebhookError,
  WebhookInputError,
  WebhookNotFoundError,
  WebhookSignatureError,
  WebhookStateError,
} from './errors';
