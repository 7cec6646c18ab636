import { DeliveryStateError, InvalidRequestError } from '../../errors';
import type { Operator } from '../admin/operators';
import type { BulkRetryOptions } from '../bulk/bulk-view';
import type { DeliveryOperations } from '../delivery-operations';
import type { Answer } from './answer';
import { operationOf, type DashboardPages } from './dashboard-pages';
import { bulkGoesOnPage, pauseLengths } from './pages/confirm-page';
import { deliveryHref, listHref } from './pages/links';
import { refusalNotice } from './pages/notices';
import { conditionsOf, onlyOne } from './request/list-query';

/** Deliveries that one request changes at most, so that its answer comes while somebody still waits for it. */
const bulkStep = 5_000;

/** Does what forms ask for. Each answer is an address to go to, or a page that says why not. */
export class DashboardActions {
  constructor(
    private readonly operations: DeliveryOperations,
    private readonly pages: DashboardPages,
  ) {}

  async retry(id: string, form: URLSearchParams, operator: Operator): Promise<Answer> {
    const restartAgeBehind = onlyOne(form, 'restartAgeBehind') === 'yes';
    return this.orRefusal(id, operator, async () => {
      await this.operations.retry(id, { actor: operator.actor, restartAgeBehind });
      return { goTo: `${deliveryHref(id)}?done=retried` };
    });
  }

  async cancel(id: string, operator: Operator): Promise<Answer> {
    return this.orRefusal(id, operator, async () => {
      await this.operations.cancel(id, { actor: operator.actor });
      return { goTo: `${deliveryHref(id)}?done=cancelled` };
    });
  }

  async bulk(form: URLSearchParams, { actor }: Operator): Promise<Answer> {
    const conditions = conditionsOf(form, ['token', 'operation', 'asOf', 'spreadOver', 'after']);
    const operation = operationOf(form);
    const asOf = onlyOne(form, 'asOf');
    const spreadOver = onlyOne(form, 'spreadOver');
    const options: BulkRetryOptions = {
      actor,
      asOf: instant(asOf),
      limit: bulkStep,
      after: onlyOne(form, 'after') || undefined,
    };
    const report =
      operation === 'cancel'
        ? await this.operations.cancelMatching(conditions, options)
        : await this.operations.retryMatching(conditions, {
            ...options,
            ...(spreadOver === '' ? {} : { spreadOver: spreadOver as BulkRetryOptions['spreadOver'] }),
          });
    if (report.next !== undefined) {
      return { page: bulkGoesOnPage(operation, conditions, report, { asOf, spreadOver }) };
    }
    const { ids: _, ...others } = conditions;
    const done = operation === 'retry' ? 'retried' : 'cancelled';
    const href = listHref(others);
    return {
      goTo: `${href}${href.includes('?') ? '&' : '?'}done=${done}&changed=${report.changed}&busy=${report.busy}`,
    };
  }

  async pause(form: URLSearchParams, { actor }: Operator): Promise<Answer> {
    const length = onlyOne(form, 'for');
    if (!Object.hasOwn(pauseLengths, length)) {
      throw new InvalidRequestError('for', `must be one of ${Object.keys(pauseLengths).join(', ')}`);
    }
    const ms = pauseLengths[length]!;
    await this.operations.pause(targetOf(form), ms === null ? { actor } : { actor, for: ms });
    return { goTo: 'overview?done=paused' };
  }

  async resume(form: URLSearchParams, { actor }: Operator): Promise<Answer> {
    const resumed = await this.operations.resume(targetOf(form), { actor });
    return { goTo: `overview?done=${resumed.length > 0 ? 'resumed' : 'not-paused'}` };
  }

  /** What cannot be done in its state, such as the second half of a double-click, is said on its own page. */
  private async orRefusal(id: string, { canSeePayload }: Operator, work: () => Promise<Answer>): Promise<Answer> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DeliveryStateError)) throw error;
      const notice = refusalNotice('Nothing was changed', error.message);
      return { page: await this.pages.detailPage(id, canSeePayload, notice), status: 409 };
    }
  }
}

function targetOf(form: URLSearchParams): { channel: string; lane?: string } {
  const lane = onlyOne(form, 'lane');
  return { channel: onlyOne(form, 'channel'), ...(lane === '' ? {} : { lane }) };
}

function instant(text: string): Date {
  const at = new Date(text);
  if (Number.isNaN(at.getTime()))
    throw new InvalidRequestError('asOf', 'must be the time of the count that was confirmed');
  return at;
}
