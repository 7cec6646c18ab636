import { InvalidRequestError, type BulkCount, type BulkRetryOptions, type DeliveryConditions } from 'nest-deliveries';
import { WebhookInputError } from '../errors';
import { endpointChannel } from './endpoint.channel';

/** Which of an endpoint's failed deliveries: by when they were created. */
export interface FailedRange {
  readonly from?: Date;
  /** Exclusive. */
  readonly until?: Date;
}

/** How they are sent again, after they were counted. */
export type CountedRetryOptions = BulkRetryOptions & Pick<BulkCount, 'asOf'>;

/** How operators ask for them. */
export const conditionsOf = (id: string, { from, until }: FailedRange): DeliveryConditions => ({
  channel: endpointChannel,
  lane: id,
  status: 'failed',
  ...(from && { createdAfter: from }),
  ...(until && { createdBefore: until }),
});

/** What operators' conditions are called here. */
const names: Readonly<Record<string, string>> = { createdAfter: 'from', createdBefore: 'until' };

/** @throws WebhookInputError for a range that is none */
export async function asInput<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InvalidRequestError) {
      throw new WebhookInputError(names[error.path] ?? error.path, error.rule.replace(/^must be /, ''));
    }
    throw error;
  }
}
