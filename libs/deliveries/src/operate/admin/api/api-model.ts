import { attemptOutcomes, deliveryStatuses, type AttemptOutcome, type DeliveryStatus } from '../../../delivery/status';
import type { Duration } from '../../../delivery/duration';
import type { AuditEvent, AuditPage } from '../../audit/audit-view';
import type { BulkReport, CappedCount } from '../../bulk/bulk-view';
import type {
  AttemptView,
  BlockerView,
  DeliveryDetail,
  DeliveryPage,
  DeliverySummary,
  EventView,
} from '../../delivery-view';
import type { DeliveryConditions } from '../../match/conditions';
import type { CancelledDelivery, RetriedDelivery } from '../../one-delivery';
import type { ChannelStats, ChannelThroughput, QueueStats, Throughput } from '../../overview/overview-view';
import type { PauseTarget, PauseView } from '../../pauses/pause-view';
import { ApiProperty } from './open-api';

// What the routes take and give, for the OpenAPI document. `implements` keeps them what the operations give.

const instant = { type: String, format: 'date-time' } as const;
const instantOrNull = { ...instant, nullable: true } as const;
const textOrNull = { type: String, nullable: true } as const;
const anything = { nullable: true, description: 'Any JSON; null when it is not shown' } as const;
const numbers = { type: [Number] as [NumberConstructor] } as const;

export class DeliverySummaryModel implements DeliverySummary {
  @ApiProperty({ type: String, format: 'uuid' }) id: string;
  @ApiProperty({ type: String, format: 'uuid' }) eventId: string;
  @ApiProperty({ type: String }) channel: string;
  @ApiProperty({ type: String }) destination: string;
  @ApiProperty(textOrNull) lane: string | null;
  @ApiProperty(textOrNull) orderingKey: string | null;
  @ApiProperty({ enum: deliveryStatuses }) status: DeliveryStatus;
  @ApiProperty({ type: Boolean }) inFlight: boolean;
  @ApiProperty({ type: Number }) attempts: number;
  @ApiProperty({ ...textOrNull, description: 'A status code or a kind, never text of a receiver' }) lastError:
    string | null;
  @ApiProperty(instant) createdAt: Date;
  @ApiProperty({ ...instant, description: 'When a worker may take it; the end of its lease while it is in flight' })
  dueAt: Date;
  @ApiProperty(instantOrNull) retriedAt: Date | null;
  @ApiProperty(instantOrNull) settledAt: Date | null;
  @ApiProperty(instantOrNull) deadline: Date | null;
}

const next = {
  type: String,
  required: false,
  description: 'The `after` of the next page; missing on the last',
} as const;

export class DeliveryPageModel implements DeliveryPage {
  @ApiProperty({ type: [DeliverySummaryModel] }) deliveries: readonly DeliverySummaryModel[];
  @ApiProperty(next) next: string | undefined;
  @ApiProperty({ ...instantOrNull, description: 'The search ended here, and goes on with the next page' })
  searchedTo: Date | null;
}

export class AttemptModel implements AttemptView {
  @ApiProperty({ type: Number }) number: number;
  @ApiProperty(instant) startedAt: Date;
  @ApiProperty(instant) endedAt: Date;
  @ApiProperty({ enum: attemptOutcomes }) outcome: AttemptOutcome;
  @ApiProperty({ type: String }) error: string;
}

export class EventModel implements EventView {
  @ApiProperty({ type: String, format: 'uuid' }) id: string;
  @ApiProperty({ type: String }) type: string;
  @ApiProperty(anything) payload: unknown;
  @ApiProperty(textOrNull) actor: string | null;
  @ApiProperty(instant) occurredAt: Date;
}

export class BlockerModel implements BlockerView {
  @ApiProperty({ type: String, format: 'uuid' }) id: string;
  @ApiProperty({ enum: deliveryStatuses }) status: DeliveryStatus;
  @ApiProperty({ type: Boolean }) inFlight: boolean;
  @ApiProperty({ type: Number }) attempts: number;
  @ApiProperty(textOrNull) lastError: string | null;
  @ApiProperty(instant) dueAt: Date;
}

export class DeliveryDetailModel extends DeliverySummaryModel implements DeliveryDetail {
  @ApiProperty({ type: Boolean, description: 'Whether you may see payloads and recipients' }) payloadShown: boolean;
  @ApiProperty(anything) payload: unknown;
  @ApiProperty(anything) recipient: unknown;
  @ApiProperty({ type: Number }) crashes: number;
  @ApiProperty(instantOrNull) leaseExpiresAt: Date | null;
  @ApiProperty({ type: [AttemptModel] }) attemptRows: readonly AttemptModel[];
  @ApiProperty({ type: EventModel, nullable: true }) event: EventModel | null;
  @ApiProperty({ type: [EventModel] }) operations: readonly EventModel[];
  @ApiProperty({ type: BlockerModel, nullable: true }) blockedBy: BlockerModel | null;
}

export class CountModel implements CappedCount {
  @ApiProperty({ type: Number, maximum: 10_000 }) count: number;
  @ApiProperty({ type: Boolean, description: 'There may be more than `count`' }) capped: boolean;
  @ApiProperty({
    ...instant,
    required: false,
    description: 'With `operation`: pass it on to leave alone what came later',
  })
  asOf?: Date;
}

export class RetriedModel implements RetriedDelivery {
  @ApiProperty(instant) dueAt: Date;
  @ApiProperty({ type: Number }) restartedBehind: number;
}

export class CancelledModel implements CancelledDelivery {
  @ApiProperty({ enum: deliveryStatuses }) was: DeliveryStatus;
  @ApiProperty({ type: Boolean }) wasInFlight: boolean;
}

export class BulkReportModel implements BulkReport {
  @ApiProperty({ type: Number }) changed: number;
  @ApiProperty({ type: Number, description: 'Somebody else held them locked: run it again' }) busy: number;
  @ApiProperty({ ...next, description: 'The `after` of the next call; missing when nothing is left' }) next:
    string | undefined;
}

export class PauseModel implements PauseView {
  @ApiProperty({ type: String }) channel: string;
  @ApiProperty(textOrNull) lane: string | null;
  @ApiProperty({ type: String }) reason: string;
  @ApiProperty(textOrNull) actor: string | null;
  @ApiProperty(instant) since: Date;
  @ApiProperty(instantOrNull) until: Date | null;
}

export class ChannelStatsModel implements ChannelStats {
  @ApiProperty({ type: String }) channel: string;
  @ApiProperty({ type: Boolean }) known: boolean;
  @ApiProperty({ type: [PauseModel] }) pauses: readonly PauseModel[];
  @ApiProperty({ type: Number }) pausedLanes: number;
  @ApiProperty({ type: CountModel }) pending: CountModel;
  @ApiProperty({ type: CountModel }) failed: CountModel;
  @ApiProperty({ type: Number }) due: number;
  @ApiProperty({ type: Number }) inFlight: number;
  @ApiProperty(instantOrNull) oldestPendingSince: Date | null;
}

export class StatsModel implements QueueStats {
  @ApiProperty(instant) at: Date;
  @ApiProperty({ type: [ChannelStatsModel] }) channels: readonly ChannelStatsModel[];
}

export class ChannelThroughputModel implements ChannelThroughput {
  @ApiProperty({ type: String }) channel: string;
  @ApiProperty(numbers) succeeded: readonly number[];
  @ApiProperty(numbers) failed: readonly number[];
  @ApiProperty(numbers) cancelled: readonly number[];
  @ApiProperty({ type: Boolean }) estimated: boolean;
}

export class ThroughputModel implements Throughput {
  @ApiProperty(instant) since: Date;
  @ApiProperty(instant) until: Date;
  @ApiProperty({ type: Number }) bucketMs: number;
  @ApiProperty({ type: [String], format: 'date-time' }) buckets: readonly Date[];
  @ApiProperty({ type: [ChannelThroughputModel] }) channels: readonly ChannelThroughputModel[];
}

export class AuditEventModel extends EventModel implements AuditEvent {
  @ApiProperty({ ...textOrNull, format: 'uuid' }) deliveryId: string | null;
}

export class AuditPageModel implements AuditPage {
  @ApiProperty({ type: [AuditEventModel] }) events: readonly AuditEventModel[];
  @ApiProperty(next) next: string | undefined;
}

export class ErrorModel {
  @ApiProperty({ type: Number }) statusCode: number;
  @ApiProperty({ type: String, example: 'DELIVERIES_STATE' }) code: string;
  @ApiProperty({ type: String }) message: string;
  @ApiProperty({ type: String, required: false, description: '400: what was not understood' }) path?: string;
  @ApiProperty({ enum: deliveryStatuses, required: false, description: '409: the state' }) status?: DeliveryStatus;
  @ApiProperty({ type: Boolean, required: false, description: '409: whether it was being sent' }) inFlight?: boolean;
  @ApiProperty({ type: Boolean, required: false, description: '404: clean-up abandoned its key' }) abandoned?: boolean;
}

const optional = { type: String, required: false } as const;
const optionalInstant = { ...instant, required: false } as const;

export class ConditionsModel implements DeliveryConditions {
  @ApiProperty({ enum: deliveryStatuses, required: false }) status?: DeliveryStatus;
  @ApiProperty(optional) channel?: string;
  @ApiProperty(optional) lane?: string;
  @ApiProperty(optional) orderingKey?: string;
  @ApiProperty(optional) destination?: string;
  @ApiProperty(optional) error?: string;
  @ApiProperty(optionalInstant) createdAfter?: Date;
  @ApiProperty(optionalInstant) createdBefore?: Date;
  @ApiProperty({ ...optional, example: '1h' }) olderThan?: Duration;
  @ApiProperty({ ...optional, example: '1d' }) newerThan?: Duration;
  @ApiProperty({ type: [String], required: false }) ids?: readonly string[];
}

export class RetryBody {
  @ApiProperty({ type: Boolean, required: false, description: 'The age of all that waits behind it restarts too' })
  restartAgeBehind?: boolean;
}

export class BulkCancelBody {
  @ApiProperty({ type: ConditionsModel, description: 'At least one' }) conditions: ConditionsModel;
  @ApiProperty({ ...optionalInstant, description: 'The `asOf` of the count' }) asOf?: Date;
  @ApiProperty({ type: Number, required: false, maximum: 10_000 }) limit?: number;
  @ApiProperty({ ...optional, description: 'The `next` of the call before' }) after?: string;
}

export class BulkRetryBody extends BulkCancelBody {
  @ApiProperty({ ...optional, example: '10m', description: 'Makes them due at random moments within this long' })
  spreadOver?: Duration;
  @ApiProperty({ type: Boolean, required: false }) restartAgeBehind?: boolean;
}

export class ResumeBody implements PauseTarget {
  @ApiProperty({ type: String }) channel: string;
  @ApiProperty({ ...optional, description: 'Default: the whole channel' }) lane?: string;
}

export class PauseBody extends ResumeBody {
  @ApiProperty({ ...optionalInstant, description: 'Default: until it is resumed' }) until?: Date;
  @ApiProperty({ ...optional, example: '1h', description: 'In the place of `until`: for how long' }) for?: Duration;
}
