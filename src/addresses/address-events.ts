import type { DeliveryEvent } from 'nest-deliveries';

/** An address was added, and waits for its link to be followed. */
export type AddressAdded = DeliveryEvent<'address_added', { readonly accountId: string; readonly addressId: string }>;

export const addressAdded = (accountId: string, addressId: string): AddressAdded & { payload: object } => ({
  type: 'address_added',
  payload: { accountId, addressId },
});

export const isAddressAdded = (event: DeliveryEvent): event is AddressAdded => event.type === 'address_added';
