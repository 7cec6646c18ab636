import { InvalidRequestError } from '../../errors';
import type { AuditFilter } from '../audit/audit-view';
import type { BulkOperation } from '../bulk/bulk-view';
import type { DeliveryOperations } from '../delivery-operations';
import type { ChannelStats } from '../overview/overview-view';
import type { PauseView } from '../pauses/pause-view';
import type { Answer } from './answer';
import { auditPage } from './pages/audit-page';
import { chartRanges } from './pages/chart';
import { bulkConfirmPage, cancelConfirmPage, pauseConfirmPage } from './pages/confirm-page';
import { detailPage } from './pages/detail-page';
import { listPage, pageSize } from './pages/list-page';
import type { MachineryFacts } from './pages/machinery';
import { doneKeys, doneNotice } from './pages/notices';
import { overviewPage } from './pages/overview-page';
import type { NoticeView, Page } from './pages/page';
import { conditionsOf, filterOf, onlyOne, refuseUnknownKeys } from './request/list-query';

/** Newest failures that the overview looks at, to say why they failed. */
const sampledFailures = 100;

/**
 * Gathers what each page shows. One question after the other: a page takes one connection of the host's pool at a time, however
 * much is on it.
 */
export class DashboardPages {
  constructor(
    private readonly operations: DeliveryOperations,
    private readonly machinery: () => MachineryFacts,
  ) {}

  async overview(query: URLSearchParams): Promise<Answer> {
    refuseUnknownKeys(query, ['window', ...doneKeys]);
    const window = onlyOne(query, 'window') || chartRanges[0].window;
    const range = chartRanges.find((each) => each.window === window);
    if (!range)
      throw new InvalidRequestError('window', `must be one of ${chartRanges.map((each) => each.window).join(', ')}`);
    const stats = await this.operations.stats();
    const throughput = await this.operations.throughput({ window: range.window });
    const pauses = await this.operations.pauses();
    const failing = stats.channels.some(({ failed }) => failed.count > 0);
    const failures = failing ? await this.operations.list({ status: 'failed', limit: sampledFailures }) : undefined;
    const page = overviewPage({
      channels: stats.channels.map((each) => withPauses(each, pauses)),
      throughput,
      range,
      pauses,
      failures: failures?.deliveries ?? [],
      machinery: this.machinery(),
      now: Date.now(),
      notice: doneNotice(query),
    });
    return { page };
  }

  async list(query: URLSearchParams): Promise<Answer> {
    const filter = filterOf(query, doneKeys);
    const bare = [...query].filter(([, value]) => value !== '');
    // What a form left empty is taken out of the address, so that it can be sent to somebody.
    if (bare.length < query.size) return { goTo: `deliveries?${new URLSearchParams(bare).toString()}` };
    const page = await this.operations.list({ ...filter, limit: pageSize });
    const { channels } = await this.operations.stats();
    const names = channels.map(({ channel }) => channel);
    return { page: listPage({ filter, page, channels: names, now: Date.now(), notice: doneNotice(query) }) };
  }

  async detail(id: string, query: URLSearchParams, canSeePayload: boolean): Promise<Answer> {
    refuseUnknownKeys(query, doneKeys);
    return { page: await this.detailPage(id, canSeePayload, doneNotice(query)) };
  }

  /** The delivery, with a line on top that says what could not be done to it. */
  async detailPage(id: string, canSeePayload: boolean, notice: NoticeView | undefined): Promise<Page> {
    const delivery = await this.operations.show(id);
    const all = delivery.status === 'pending' ? await this.operations.pauses() : [];
    const pauses = all.filter(
      ({ channel, lane }) => channel === delivery.channel && (lane === null || lane === delivery.lane),
    );
    return detailPage({ delivery, canSeePayload, pauses, now: Date.now(), notice });
  }

  async audit(query: URLSearchParams): Promise<Answer> {
    refuseUnknownKeys(query, ['actor', 'type', 'deliveryId', 'after']);
    const filter: AuditFilter = Object.fromEntries([...query].filter(([, value]) => value !== ''));
    const page = await this.operations.audit({ ...filter, limit: pageSize });
    return { page: auditPage({ filter, page, now: Date.now() }) };
  }

  async confirmBulk(query: URLSearchParams): Promise<Answer> {
    const conditions = conditionsOf(query, ['operation']);
    const operation = operationOf(query);
    const counted = await this.operations.countMatching(operation, conditions);
    return { page: bulkConfirmPage(operation, conditions, counted) };
  }

  async confirmCancel(id: string, query: URLSearchParams): Promise<Answer> {
    refuseUnknownKeys(query, []);
    const delivery = await this.operations.show(id);
    return { page: cancelConfirmPage(delivery) };
  }

  confirmPause(query: URLSearchParams): Answer {
    refuseUnknownKeys(query, ['channel', 'lane']);
    const channel = onlyOne(query, 'channel');
    if (channel === '') throw new InvalidRequestError('channel', 'must say which channel to pause');
    return { page: pauseConfirmPage(channel, onlyOne(query, 'lane') || undefined) };
  }
}

/** Statistics may be ten seconds old; a channel that was paused, through whatever process, is to be seen paused. */
function withPauses(stats: ChannelStats, pauses: readonly PauseView[]): ChannelStats {
  // As many as are given at most: others may be missing.
  if (pauses.length >= 1_000) return stats;
  const own = pauses.filter(({ channel }) => channel === stats.channel);
  const whole = own.filter(({ lane }) => lane === null);
  return { ...stats, pauses: whole, pausedLanes: own.length - whole.length };
}

/** @throws InvalidRequestError */
export function operationOf(query: URLSearchParams): BulkOperation {
  const operation = onlyOne(query, 'operation');
  if (operation === 'retry' || operation === 'cancel') return operation;
  throw new InvalidRequestError('operation', 'must be retry or cancel');
}
