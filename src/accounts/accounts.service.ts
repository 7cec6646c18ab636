import { ConflictException, Injectable } from '@nestjs/common';
import { DeliveryRecorder } from 'nest-deliveries';
import type { EmailAddress } from 'nest-deliveries/email';
import type { EntityManager } from 'typeorm';
import { AddressesService } from '../addresses/addresses.service';
import { violates } from '../database';
import { Account } from './account.entity';
import { accountCreated } from './account-created';

/** An account to be, and where its holder can be reached. */
export interface NewAccount {
  readonly handle: string;
  readonly email?: EmailAddress;
}

@Injectable()
export class AccountsService {
  constructor(
    private readonly recorder: DeliveryRecorder,
    private readonly addresses: AddressesService,
  ) {}

  /**
   * Creates accounts and records that they were created, all in one transaction: either every account exists and every
   * partner will hear of it, or none does and nobody hears anything. An address that comes along gets its link.
   *
   * @throws ConflictException when one of the handles is taken
   */
  async create(wanted: readonly NewAccount[]): Promise<Account[]> {
    try {
      return await this.recorder.transaction(async (tx) => {
        const accounts: Account[] = [];
        for (const each of wanted) accounts.push(await this.createOne(tx, each));
        return accounts;
      });
    } catch (error) {
      if (!violates(error, 'accounts_handle_taken')) throw error;
      throw new ConflictException('A handle is taken; no account was created.');
    }
  }

  private async createOne(tx: EntityManager, { handle, email }: NewAccount): Promise<Account> {
    const account = await tx.save(tx.create(Account, { handle }));
    await this.recorder.record(tx, accountCreated(account.id));
    if (email !== undefined) await this.addresses.addIn(tx, account.id, email);
    return account;
  }
}
