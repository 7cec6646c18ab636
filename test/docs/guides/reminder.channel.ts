import { DeliveryChannel, skipped, succeeded, type ChannelHandler, type Delivery } from 'nest-deliveries';
import { DataSource } from 'typeorm';
import { Order } from './entities';

export interface Reminder {
  readonly orderId: string;
}

@DeliveryChannel({ name: 'reminder', maxAge: '7d' })
export class ReminderChannel implements ChannelHandler<Reminder> {
  constructor(private readonly dataSource: DataSource) {}

  // Nothing that happens causes one: reminders are enqueued.
  deliveries(): [] {
    return [];
  }

  async send({ payload }: Delivery<Reminder>) {
    const order = await this.dataSource.manager.findOneBy(Order, { id: payload.orderId });
    if (order?.status !== 'placed') return skipped('order_moved_on');
    // … and here whatever tells the customer.
    return succeeded();
  }
}
