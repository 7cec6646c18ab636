import { ConflictException, Injectable } from '@nestjs/common';
import { DeliveryRecorder } from 'nest-deliveries';
import type { EntityManager } from 'typeorm';
import { violates } from '../database';
import { Account } from './account.entity';
import { accountCreated } from './account-created';

@Injectable()
export class AccountsService {
  constructor(private readonly recorder: DeliveryRecorder) {}

  /**
   * Creates accounts and records that they were created, all in one transaction: either every account exists and every
   * partner will hear of it, or none does and nobody hears anything.
   *
   * @throws ConflictException when one of the handles is taken
   */
  async create(handles: readonly string[]): Promise<Account[]> {
    try {
      return await this.recorder.transaction(async (tx) => {
        const accounts: Account[] = [];
        for (const handle of handles) accounts.push(await this.createOne(tx, handle));
        return accounts;
      });
    } catch (error) {
      if (!violates(error, 'accounts_handle_taken')) throw error;
      throw new ConflictException('A handle is taken; no account was created.');
    }
  }

  private async createOne(tx: EntityManager, handle: string): Promise<Account> {
    const account = await tx.save(tx.create(Account, { handle }));
    await this.recorder.record(tx, accountCreated(account.id));
    return account;
  }
}
