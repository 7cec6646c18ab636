// Set up
export { DeliveriesModule, type DeliveriesAsyncOptions } from './deliveries.module';
export { deliveriesToken } from './module-name';
export { optionDefaults, type DeliveriesOptions, type HealthSettings } from './deliveries.options';
export { milliseconds, type Duration } from './delivery/duration';

// Record
export { DeliveryRecorder, type RecordedEvent } from './record/delivery-recorder';
export type { DraftOf } from './record/draft-of';
export type { Isolation } from './record/own-transaction';
export type { RecordedDelivery } from './record/delivery-inserter';
export { type DraftQuery, draftsFrom } from './delivery/draft-query';
export type { Transaction } from './database/caller-transaction';
export type { DeliveryEvent } from './delivery/delivery';
export type { DeliveryDraft } from './delivery/draft';

// Write a channel
export {
  channelIn,
  channelOptionsOf,
  DeliveryChannel,
  type ChannelHandler,
  type ChannelSettings,
  type DeliveryChannelOptions,
  type Drafts,
  type LaneSettings,
  type RetentionSettings,
  type RetrySettings,
} from './channel/channel.decorator';
export type { Attempt, Delivery } from './delivery/delivery';
export { failed, retry, skipped, succeeded, type Outcome, type RetryAfter } from './delivery/outcome';
export { kindPattern, unnamedKind } from './delivery/kind';
export { AttemptAbortedError } from './send/attempt-in-flight';
export { ChannelPauses } from './pause/channel-pauses';
export { RuntimeChannel, RuntimeChannels, type RuntimeHandler } from './runtime-channels';
export type { DeliveredByHand } from './worker/deliver-claim';

// Operate
export { migrateSchema, schemaStatus, type SchemaStatus } from './database/schema';
export { DeliveryOperations } from './operate/delivery-operations';
export type { CancelledDelivery, RetriedDelivery } from './operate/one-delivery';
export type { DeliveryConditions } from './operate/match/conditions';
export type { DeliveryFilter } from './operate/match/delivery-finder';
export type {
  BulkCount,
  BulkOperation,
  BulkOptions,
  BulkReport,
  BulkRetryOptions,
  CappedCount,
} from './operate/bulk/bulk-view';
export type {
  ChannelStats,
  ChannelThroughput,
  QueueStats,
  Throughput,
  ThroughputOptions,
} from './operate/overview/overview-view';
export type { PauseOptions, PauseTarget, PauseView } from './operate/pauses/pause-view';
export type { AuditEvent, AuditFilter, AuditPage } from './operate/audit/audit-view';
export type {
  AttemptView,
  BlockerView,
  DeliveryDetail,
  DeliveryPage,
  DeliverySummary,
  EventView,
} from './operate/delivery-view';
export type { AdminOptions } from './operate/admin/admin-options';
export { attemptOutcomes, deliveryStatuses, type AttemptOutcome, type DeliveryStatus } from './delivery/status';
export { DeliveryCleaner } from './clean-up/delivery-cleaner';
export type { CleanUpReport } from './clean-up/clean-up-report';
export { DeliveryWorkers } from './worker/delivery-workers';
export { WakeUps } from './wake-up/wake-ups';
export type { ListenState } from './wake-up/listener';

// Observe
export { AttemptTally, countedOutcomes, type CountedOutcome } from './observe/attempt-tally';
export { attemptChannel, type LogAttempts } from './observe/attempt-observer';
export type { EndedAttempt } from './observe/ended-attempt';
export { DeliveriesHealthIndicator, type DeliveriesHealth } from './observe/health/deliveries-health';
export { DeliveriesMetrics, type MetricsOptions } from './observe/metrics/deliveries-metrics';
export { QueueCounter, type PendingCount } from './observe/queue-counter';

// Errors
export {
  ChannelDefinitionError,
  DatabaseUnreachableError,
  DedupeConflictError,
  DedupeUnsettledError,
  DeliveriesError,
  DeliveriesOptionsError,
  DeliveryNotFoundError,
  DeliveryStateError,
  InvalidDraftError,
  InvalidRequestError,
  OrderedPurgeError,
  RequestTimeoutError,
  SchemaBehindError,
  TransactionRequiredError,
  UnknownChannelError,
} from './errors';
