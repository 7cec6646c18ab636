/**
 * Drafts that a query produces inside PostgreSQL, for a fan-out to very many: a hundred thousand deliveries are one statement,
 * and none of them passes through this process. Made by {@link draftsFrom}.
 */
export class DraftQuery {
  constructor(
    readonly sql: string,
    readonly parameters: readonly unknown[],
  ) {}
}

/**
 * What a channel's `deliveries` returns, or `enqueue` takes, in the place of a list of drafts.
 *
 * The query runs in the caller's transaction. Its columns are those of a draft: `destination` (text) and `payload` (jsonb), and
 * where it has them `recipient` (jsonb), `lane` (text), `not_before` and `deadline` (timestamptz). Ordering keys and dedupe
 * keys take locks in an order of their own, and so are not for it. The same limits hold as for a {@link DeliveryDraft}; a row
 * that breaks one is refused with an InvalidDraftError, and nothing of the call is recorded.
 *
 * @param sql a SELECT, or whatever stands in the place of one, with parameters from `$1` on. Never put values into it.
 */
export const draftsFrom = (sql: string, parameters: readonly unknown[] = []): DraftQuery =>
  new DraftQuery(sql, parameters);
