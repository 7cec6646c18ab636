import { Injectable } from '@nestjs/common';
import { DeliveryRecorder } from 'nest-deliveries';
import { Account } from './account.entity';

@Injectable()
export class AccountsService {
  constructor(private readonly recorder: DeliveryRecorder) {}

  create(handle: string): Promise<Account> {
    return this.recorder.transaction(async (tx) => {
      const account = await tx.save(Account, { handle });
      await this.recorder.record(tx, { type: 'account_created', payload: { accountId: account.id } });
      return account;
    });
  }
}
