import { DeliveryChannel, skipped, type Delivery, type DeliveryEvent } from 'nest-deliveries';
import { email, emailAddress, emailChannel, EmailChannel, EmailSender } from 'nest-deliveries/email';
import { DataSource } from 'typeorm';
import { Account } from './account.entity';
import { welcome } from './message-kinds';

interface Welcome {
  readonly accountId: string;
}

@DeliveryChannel(emailChannel)
export class WelcomeEmailChannel extends EmailChannel<Welcome> {
  constructor(
    sender: EmailSender,
    private readonly dataSource: DataSource,
  ) {
    super(sender);
  }

  deliveries(event: DeliveryEvent) {
    if (event.type !== 'account_created') return [];
    const { accountId } = event.payload as Welcome;
    return [{ destination: `account ${accountId}`, payload: { accountId } }];
  }

  async message({ payload: { accountId } }: Delivery<Welcome>) {
    const account = await this.dataSource.manager.findOneBy(Account, { id: accountId });
    if (!account) return skipped('account_removed');
    return email(welcome, emailAddress(`${account.handle}@example.com`), {
      name: account.handle,
      link: 'https://app.example/start',
    });
  }
}
