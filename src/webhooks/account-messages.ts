import type { MessagesOf } from 'nest-deliveries/webhooks';
import { isAccountCreated } from '../accounts/account-created';
import { Account } from '../accounts/account.entity';

/** Whose endpoints they are: this application has one kind of tenant, its partners, and operators register for them. */
export const partnersTenant = 'partners';

/** What partners' endpoints are told. */
export const accountMessages: MessagesOf = async (event, tx) => {
  if (!isAccountCreated(event)) return [];
  const { id, handle, createdAt } = await tx.findOneByOrFail(Account, { id: event.payload!.accountId });
  const message = { type: event.type, timestamp: createdAt, data: { accountId: id, handle } };
  return [{ tenant: partnersTenant, kind: event.type, body: Buffer.from(JSON.stringify(message)) }];
};
