import type { RuntimeChannels, Transaction } from 'nest-deliveries';
import { WebhookInputError } from '../errors';
import type { ReceivedMessage } from './webhook-verifier';

/** Longer than any sender of this library tries: a week, and a day. In ms. */
const keepFor = 8 * 86_400_000;
/** Twice the longest tolerance: below it, a message could be forgotten while its signature is still fresh. In ms. */
const leastKeep = 2 * 300_000;
/** Receipts that are removed with each new one: more than come in, so that what is past is soon gone. */
const removedAtOnce = 10;

const acceptSql = (schema: string): string => `
INSERT INTO ${schema}.webhook_receipts (source, message_id, forget_at)
VALUES ($1, $2, clock_timestamp() + $3::float8 * interval '1 ms')
ON CONFLICT (source, message_id) DO NOTHING
RETURNING message_id`;

/** Waits for nobody. $1 at most */
const forgetSql = (schema: string): string => `
WITH past AS MATERIALIZED (
  SELECT r.source, r.message_id
    FROM ${schema}.webhook_receipts r
   WHERE r.forget_at < now()
   ORDER BY r.forget_at
   LIMIT $1
     FOR UPDATE SKIP LOCKED
)
DELETE FROM ${schema}.webhook_receipts r USING past WHERE r.source = past.source AND r.message_id = past.message_id`;

/** Remembers which messages were handled, in the transaction that handles them. */
export class WebhookReceipts {
  constructor(private readonly channels: RuntimeChannels) {}

  /**
   * Whether a message comes for the first time. A second request with the same message waits until this transaction has ended:
   * it is a duplicate if this one commits, and comes first if it rolls back.
   *
   * @param tx the transaction in which the message is handled
   * @param options.keepFor in ms: at least ten minutes, twice the longest tolerance. Default 8 days, longer than senders try
   * @throws TransactionRequiredError, WebhookInputError
   */
  async isFirst(
    tx: Transaction,
    { source, id }: Pick<ReceivedMessage, 'source' | 'id'>,
    options: { keepFor?: number } = {},
  ): Promise<boolean> {
    const keep = options.keepFor ?? keepFor;
    if (!(keep >= leastKeep)) throw new WebhookInputError('keepFor', `at least ${leastKeep} ms`);
    const runner = this.channels.connectionOf(tx);
    const { schema } = this.channels;
    const rows = (await runner.query(acceptSql(schema), [source, id, keep])) as unknown[];
    if (rows.length === 0) return false;
    await runner.query(forgetSql(schema), [removedAtOnce]);
    return true;
  }
}
