import type { DataSource, EntityManager } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ChannelRegistry } from '../channel/channel-registry';
import type { DeliveryStatus } from '../delivery/status';
import { DeliveryNotFoundError, DeliveryStateError, RequestTimeoutError } from '../errors';
import { cancelSql } from './cancel.sql';
import { actorOf, isUuid, optionalFlag } from './check-request';
import { detailOf, type DeliveryDetail, type DetailRow } from './delivery-view';
import type { Reader } from './reader';
import { retrySql } from './retry.sql';
import { showSql, wasAbandonedSql } from './show.sql';

/** What a retry did. */
export interface RetriedDelivery {
  /** When it is sent again: now, or when an attempt that was cancelled in flight cannot reach the receiver any more. */
  readonly dueAt: Date;
  /** Deliveries behind it in its key whose age restarted with its own. */
  readonly restartedBehind: number;
}

/** What a cancel met. */
export interface CancelledDelivery {
  readonly was: DeliveryStatus;
  /** It was being sent: the attempt may still reach the receiver, and its outcome is dropped. */
  readonly wasInFlight: boolean;
}

/** How long a change of one delivery may take, in ms: somebody may hold it locked. */
const changeTimeout = 10_000;

/** What operators do with one delivery. */
export class OneDelivery {
  private readonly retryText: string;
  private readonly cancelText: string;
  private readonly showText: string;
  private readonly wasAbandoned: string;

  constructor(
    private readonly dataSource: DataSource,
    private readonly channels: ChannelRegistry,
    private readonly reader: Reader,
    private readonly onDue: (channel: string) => void,
    schema: string,
  ) {
    this.retryText = retrySql(schema);
    this.cancelText = cancelSql(schema);
    this.showText = showSql(schema);
    this.wasAbandoned = wasAbandonedSql(schema);
  }

  async retry(id: string, options: { actor: string; restartAgeBehind?: boolean }): Promise<RetriedDelivery> {
    const actor = actorOf(options);
    const behind = optionalFlag(options.restartAgeBehind, 'restartAgeBehind');
    const values = [id, actor, uuidv7(), revivable(this.channels), behind];
    // There may be a million behind it.
    const row = await this.change<RetryRow>(id, this.retryText, values, behind ? 0 : changeTimeout);
    if (row.refusal !== null) {
      throw new DeliveryStateError(id, 'retry', row.status, row.in_flight, refusals[row.refusal]);
    }
    this.onDue(row.channel);
    return { dueAt: row.due_at, restartedBehind: row.restarted_behind };
  }

  async cancel(id: string, options: { actor: string }): Promise<CancelledDelivery> {
    const actor = actorOf(options);
    const channels = this.channels.all();
    const row = await this.change<CancelRow>(id, this.cancelText, [
      id,
      actor,
      uuidv7(),
      channels.map(({ name }) => name),
      channels.map(({ lease }) => lease),
    ]);
    if (!row.cancelled) {
      const reason = 'Only a pending or a failed delivery can be cancelled; this one has ended.';
      throw new DeliveryStateError(id, 'cancel', row.status, row.in_flight, reason);
    }
    if (row.ordering_key !== null) this.onDue(row.channel);
    return { was: row.status, wasInFlight: row.in_flight };
  }

  async show(id: string): Promise<DeliveryDetail> {
    if (!isUuid(id)) throw new DeliveryNotFoundError(String(id), false);
    return this.reader.read(async (tx) => {
      const [row] = await tx.query<DetailRow[]>(this.showText, [id]);
      return row ? detailOf(row) : this.refuseUnknown(tx, id);
    });
  }

  /** @param limit in ms; 0 for none */
  private async change<Row>(id: string, text: string, values: unknown[], limit = changeTimeout): Promise<Row> {
    if (!isUuid(id)) throw new DeliveryNotFoundError(String(id), false);
    const changed = this.dataSource.transaction('READ COMMITTED', async (tx) => {
      await tx.query(`SET LOCAL statement_timeout = ${limit}`);
      const [row] = await tx.query<Row[]>(text, values);
      return row ?? this.refuseUnknown(tx, id);
    });
    return changed.catch((error: { code?: unknown }) => {
      // 57014: query_canceled
      throw error.code === '57014' ? new RequestTimeoutError(limit, { cause: error }) : error;
    });
  }

  /** A statement of its own: it sees what a clean-up that was waited for has committed. */
  private async refuseUnknown(tx: EntityManager, id: string): Promise<never> {
    const [row] = await tx.query<[{ abandoned: boolean }]>(this.wasAbandoned, [id]);
    throw new DeliveryNotFoundError(id, row.abandoned);
  }
}

/** Channels whose cancelled deliveries may be retried. */
export const revivable = (channels: ChannelRegistry): string[] =>
  channels
    .all()
    .filter(({ revivesCancelled }) => revivesCancelled)
    .map(({ name }) => name);

const refusals = {
  not_ended_badly: 'Only a failed delivery can be retried, or a cancelled one; pending ones are sent by themselves.',
  cancelled_in_order:
    'It has an ordering key, and what came after it may have been sent. Record it again if it is still to be sent.',
  cancelled_for_good: 'Its channel says revivesCancelled: false, or is not known here. Record it again instead.',
  past_deadline: 'Its deadline has passed, and a retry does not move it. Record it again with a later one.',
} as const;

interface RetryRow {
  readonly channel: string;
  readonly status: DeliveryStatus;
  readonly in_flight: boolean;
  readonly refusal: keyof typeof refusals | null;
  readonly due_at: Date;
  readonly restarted_behind: number;
}

interface CancelRow {
  readonly channel: string;
  readonly status: DeliveryStatus;
  readonly in_flight: boolean;
  readonly ordering_key: string | null;
  readonly cancelled: boolean;
}
