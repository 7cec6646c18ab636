import type { EntityManager } from 'typeorm';
import type { BulkCount, BulkOperation, CappedCount } from '../bulk/bulk-view';
import { checkLimit, readCursor, refuseUnknownKeys, writtenCursor, type Cursor } from '../check-request';
import { summaryOf, type DeliveryPage, type SummaryRow } from '../delivery-view';
import type { Reader } from '../reader';
import { conditionNames, matching, type DeliveryConditions, type Matching, type Purpose } from './conditions';
import { countSql, listSql, nextIdsSql, type Search } from './list.sql';
import { narrowings, type Narrowing } from './matching.sql';
import { crowdSql } from './waiting.sql';
import { skipSql } from './walk.sql';

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
/** Pending deliveries that are gathered and sorted for a page, some 8 ms: more of them are a crowd. */
const gathered = 5_000;

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
  private readonly lists: Record<Search, string>;
  private readonly counts: Record<Narrowing, string>;
  private readonly nextIds: Record<Search, string>;
  private readonly crowdText: string;
  private readonly skipText: string;

  constructor(
    private readonly reader: Reader,
    schema: string,
    private readonly revivable: () => readonly string[],
  ) {
    this.lists = forEach([...all, 'walk'], (search) => listSql(schema, search));
    this.counts = forEach(all, (narrowing) => countSql(schema, narrowing));
    this.nextIds = forEach([...all, 'walk'], (search) => nextIdsSql(schema, search));
    this.crowdText = crowdSql(schema);
    this.skipText = skipSql(schema);
  }

  async list(filter: DeliveryFilter): Promise<DeliveryPage> {
    refuseUnknownKeys(filter, [...conditionNames, 'limit', 'after']);
    const limit = checkLimit(filter.limit, 100, 1_000);
    const matched = matching(filter);
    const from = readCursor(filter.after);
    const { page, next, early } = await this.reader.read(async (tx) => {
      const search = await this.searchFor(tx, matched, from);
      // One more than the page holds says whether there is another page.
      const look = async (after: Cursor | undefined): Promise<Turned<ListRow>> => {
        const values = [...matched.parameters(search, lookOfPage, after), limit + 1];
        return pageOf(await tx.query<PageRow<ListRow>[]>(this.lists[search], values), limit, search);
      };
      const first = await look(from);
      if (search !== 'walk' || !matched.gathers?.nothingElse || !first.early || first.page.length > 0) return first;
      const { us, id } = first.next!;
      const [skip] = await tx.query<[{ id: string }?]>(this.skipText, [matched.gathers.channel, us, id]);
      return skip ? look({ us, id: skip.id }) : { page: [], next: undefined, early: undefined };
    });
    return {
      deliveries: page.map(summaryOf),
      next: next && writtenCursor(next),
      searchedTo: early ?? null,
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

  /**
   * The next `limit` deliveries that an operation would change, oldest first, after `from`. When they have become a crowd only since,
   * the walk begins at the beginning: what was changed there does not match any more, and nothing is left out.
   */
  async next(matched: Matching, limit: number, from: Cursor | undefined): Promise<NextIds> {
    const { page, next } = await this.reader.read(async (tx) => {
      const search = await this.searchFor(tx, matched, from);
      const after = search === 'walk' && !from?.walked ? undefined : from;
      const values = [...matched.parameters(search, lookOfPage, after), limit + 1];
      return pageOf(await tx.query<PageRow<NextIdRow>[]>(this.nextIds[search], values), limit, search);
    });
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

  /**
   * A crowd of pending ones is walked through by id, and a few are gathered; everything else is in some index by age. What was begun
   * as a walk ends as one: recorded at once by two processes, two deliveries may be the other way round by age.
   */
  private async searchFor(tx: EntityManager, { narrowing, gathers }: Matching, from?: Cursor): Promise<Search> {
    if (!gathers) return narrowing;
    if (from?.walked) return 'walk';
    const [row] = await tx.query<[{ crowd: boolean }]>(this.crowdText, [gathers.channel, gathered]);
    return row.crowd ? 'walk' : narrowing;
  }

  private async countOf({ narrowing, parameters }: Matching, cap = countCap): Promise<CountRow> {
    const [row] = await this.reader.rows<CountRow>(this.counts[narrowing], [
      ...parameters(narrowing, lookOfCount),
      cap,
    ]);
    return row!;
  }
}

/** A page, where the next one begins, and the instant back to which was searched if that ended early. */
interface Turned<Row> {
  readonly page: Row[];
  readonly next: Cursor | undefined;
  readonly early: Date | undefined;
}

type PageRow<Row extends PlacedRow> = Row | (EdgeRow & { readonly id: null });

/** The next page begins after the last of a full one, or where the search ended early. */
function pageOf<Row extends PlacedRow>(rows: readonly PageRow<Row>[], limit: number, search: Search): Turned<Row> {
  const walked = search === 'walk';
  const found = rows.filter((row): row is Row => row.id !== null);
  const page = found.slice(0, limit);
  if (found.length > limit) {
    const last = page.at(-1)!;
    return { page, next: { us: last.created_us, id: last.id, walked }, early: undefined };
  }
  const { edge_us: us, edge_id: id, edge_at: at } = rows[0]!;
  if (us === null || id === null) return { page, next: undefined, early: undefined };
  return { page, next: { us, id, walked }, early: at! };
}

const all = Object.keys(narrowings) as Narrowing[];

const forEach = <Way extends Search>(ways: readonly Way[], text: (way: Way) => string): Record<Way, string> =>
  Object.fromEntries(ways.map((way) => [way, text(way)])) as Record<Way, string>;

interface EdgeRow {
  readonly edge_at: Date | null;
  readonly edge_us: string | null;
  readonly edge_id: string | null;
}

interface PlacedRow extends EdgeRow {
  readonly id: string;
  readonly created_us: string;
}

type ListRow = SummaryRow & PlacedRow;

type NextIdRow = PlacedRow;

interface CountRow {
  readonly count: number;
  readonly capped: boolean;
  readonly as_of: Date;
}
