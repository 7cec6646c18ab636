import { InvalidRequestError } from '../../errors';
import { checkLimit, isUuid, optionalText, readCursor, refuseUnknownKeys, writtenCursor } from '../check-request';
import type { Reader } from '../reader';
import { auditSql } from './audit.sql';
import type { AuditEvent, AuditFilter, AuditPage } from './audit-view';

/** Events that one page looks at, when few of them fit. */
const look = 10_000;

interface AuditRow {
  readonly id: string;
  readonly type: string;
  readonly payload: unknown;
  readonly actor: string | null;
  readonly delivery_id: string | null;
  readonly occurred_at: Date;
  readonly occurred_us: string;
  readonly fits: boolean;
  readonly last: boolean;
}

/** What operators and clean-up did. */
export class AuditTrail {
  private readonly everything: string;
  private readonly ofDelivery: string;

  constructor(
    private readonly reader: Reader,
    schema: string,
  ) {
    this.everything = auditSql(schema, 'everything');
    this.ofDelivery = auditSql(schema, 'a delivery');
  }

  async page(filter: AuditFilter): Promise<AuditPage> {
    refuseUnknownKeys(filter, ['deliveryId', 'actor', 'type', 'limit', 'after']);
    const { deliveryId } = filter;
    if (deliveryId !== undefined && !isUuid(deliveryId)) throw new InvalidRequestError('deliveryId', 'must be an id');
    const limit = checkLimit(filter.limit, 100, 1_000);
    const from = readCursor(filter.after);
    const values = [
      deliveryId ?? null,
      optionalText(filter.actor, 'actor'),
      optionalText(filter.type, 'type'),
      from?.us ?? null,
      from?.id ?? null,
      look,
      limit + 1,
    ];
    const rows = await this.reader.rows<AuditRow>(deliveryId === undefined ? this.everything : this.ofDelivery, values);
    const events = rows.filter(({ fits }) => fits).slice(0, limit);
    // The page is full and there is more, or the search ended early.
    const end = rows.length > limit ? events.at(-1) : rows.findLast(({ last }) => last);
    return {
      events: events.map(eventOf),
      next: end && writtenCursor({ us: end.occurred_us, id: end.id }),
    };
  }
}

const eventOf = ({ id, type, payload, actor, delivery_id, occurred_at }: AuditRow): AuditEvent => ({
  id,
  type,
  payload,
  actor,
  deliveryId: delivery_id,
  occurredAt: occurred_at,
});
