import type { DeliveriesApp } from '../../support/deliveries-app';

type Operates = Pick<DeliveriesApp, 'operations'>;

const operator = { actor: 'ada' };

export async function cancel({ operations }: Operates, id: string): Promise<void> {
  await operations.cancel(id, operator);
}

export async function retryFailed({ operations }: Operates, id: string): Promise<void> {
  await operations.retry(id, operator);
}
