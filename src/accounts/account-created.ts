import type { DeliveryEvent } from 'nest-deliveries';

/** An account came into being. Carries its id: whoever needs more reads it in the same transaction. */
export type AccountCreated = DeliveryEvent<'account_created', { readonly accountId: string }>;

export const accountCreated = (accountId: string): AccountCreated => ({
  type: 'account_created',
  payload: { accountId },
});

export const isAccountCreated = (event: DeliveryEvent): event is AccountCreated => event.type === 'account_created';
