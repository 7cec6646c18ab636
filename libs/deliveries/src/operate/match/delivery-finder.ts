import type { BulkCount, BulkOperation, CappedCount } from '../bulk/bulk-view';
import { checkLimit, readCursor, refuseUnknownKeys, writtenCursor, type Cursor } from '../check-request';
import { summaryOf, type DeliveryPage, type SummaryRow } from '../delivery-view';
import type { Reader } from '../reader';
import { conditionNames, matching, type DeliveryConditions, type Matching, type Purpose } from './conditions';
import { countSql, listSql, nextIdsSql } from './list.sql';
import { narrowings, type Narrowing } from './matching.sql';

/** Which deliveries `list` gives, and which page of them. */
export interface DeliveryFilter extends DeliveryConditions {
  /** Deliveries on a page, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** The `next` of the page before. */
  readonly after?: string;
}

/** Rows that a page or a count looks at where no index finds what is asked for: some 8 ms, and 30. */
const lookOfPage = 5_000;
const lookOfCount = 50_000;

/** What nobody needs to know more exactly. */
export const countCap = 10_000;
/** The same for what an operation would change, where each row is looked at: 10,000 of them took 54 ms, and a page 12. */
const bulkCountCap = 3_000;

/** What a bulk operation does next. */
export interface NextIds {
  readonly ids: readonly string[];
  /** Where to go on; undefined at the end. */
  readonly next: Cursor | undefined;
}

/** Finds and counts deliveries. */
export class DeliveryFinder {
  private readonly lists: Record<Narrowing, string>;
  private readonly counts: Record<Narrowing, string>;
  private readonly nextIds: Record<Narrowing, string>;

  constructor(
    private readonly reader: Reader,
    schema: string,
    private readonly revivable: () => readonly string[],
  ) {
    this.lists = forEach((narrowing) => listSql(schema, narrowing));
    this.counts = forEach((narrowing) => countSql(schema, narrowing));
    this.nextIds = forEach((narrowing) => nextIdsSql(schema, narrowing));
  }

  async list(filter: DeliveryFilter): Promise<DeliveryPage> {
    refuseUnknownKeys(filter, [...conditionNames, 'limit', 'after']);
    const limit = checkLimit(filter.limit, 100, 1_000);
    const { narrowing, parameters } = matching(filter);
    // One more than the page holds says whether there is another page.
    const values = [...parameters(lookOfPage, readCursor(filter.after)), limit + 1];
    const rows = await this.reader.rows<ListRow>(this.lists[narrowing], values);
    const { page, next, early } = pageOf(rows, limit);
    return {
      deliveries: page.map(summaryOf),
      next: next && writtenCursor(next),
      searchedTo: early ? rows[0]!.edge_at : null,
    };
  }

  async count(conditions: DeliveryConditions): Promise<CappedCount> {
    refuseUnknownKeys(conditions, conditionNames);
    const { count, capped } = await this.countOf(matching(conditions));
    return { count, capped };
  }

  async countMatching(operation: BulkOperation, conditions: DeliveryConditions): Promise<BulkCount> {
    const { count, capped, as_of } = await this.countOf(
      matching(conditions, this.purpose(operation, 'infinity', conditions)),
      bulkCountCap,
    );
    return { count, capped, asOf: as_of };
  }

  /** The next `limit` deliveries that an operation would change, oldest first, after `from`. */
  async next(matched: Matching, limit: number, from: Cursor | undefined): Promise<NextIds> {
    const values = [...matched.parameters(lookOfPage, from), limit + 1];
    const rows = await this.reader.rows<NextIdRow>(this.nextIds[matched.narrowing], values);
    const { page, next } = pageOf(rows, limit);
    return { ids: page.map(({ id }) => id), next };
  }

  /**
   * What an operation could change. A cancelled delivery is retried only when it is meant, by its status or its id.
   * @param asOf leaves alone what came to match after this instant
   */
  purpose(operation: BulkOperation, asOf: Date | 'infinity', { ids }: DeliveryConditions): Purpose {
    const alsoCancelled = ids === undefined ? [] : (['cancelled'] as const);
    const statuses = operation === 'retry' ? (['failed', ...alsoCancelled] as const) : (['pending', 'failed'] as const);
    return { operation, statuses, asOf, revivable: this.revivable() };
  }

  private async countOf({ narrowing, parameters }: Matching, cap = countCap): Promise<CountRow> {
    const [row] = await this.reader.rows<CountRow>(this.counts[narrowing], [...parameters(lookOfCount), cap]);
    return row!;
  }
}

/** The rows of a page, and where the next one begins: after the last of a full page, or where the search ended early. */
function pageOf<Row extends PlacedRow>(
  rows: readonly (Row | (EdgeRow & { readonly id: null }))[],
  limit: number,
): { page: Row[]; next: Cursor | undefined; early: boolean } {
  const found = rows.filter((row): row is Row => row.id !== null);
  const page = found.slice(0, limit);
  if (found.length > limit) {
    const last = page.at(-1)!;
    return { page, next: { us: last.created_us, id: last.id }, early: false };
  }
  const { edge_us: us, edge_id: id } = rows[0]!;
  return us !== null && id !== null ? { page, next: { us, id }, early: true } : { page, next: undefined, early: false };
}

const forEach = (text: (narrowing: Narrowing) => string): Record<Narrowing, string> =>
  Object.fromEntries((Object.keys(narrowings) as Narrowing[]).map((each) => [each, text(each)])) as Record<
    Narrowing,
    string
  >;

interface EdgeRow {
  readonly edge_us: string | null;
  readonly edge_id: string | null;
}

interface PlacedRow extends EdgeRow {
  readonly id: string;
  readonly created_us: string;
}

interface ListRow extends SummaryRow, PlacedRow {
  readonly edge_at: Date | null;
}

type NextIdRow = PlacedRow;

interface CountRow {
  readonly count: number;
  readonly capped: boolean;
  readonly as_of: Date;
}
