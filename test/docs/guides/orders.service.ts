import { Injectable } from '@nestjs/common';
import { DeliveryRecorder, type RecordedDelivery } from 'nest-deliveries';
import { DataSource, type EntityManager } from 'typeorm';
import { Order } from './entities';
import { ReminderChannel } from './reminder.channel';

@Injectable()
export class OrdersService {
  constructor(
    private readonly recorder: DeliveryRecorder,
    private readonly dataSource: DataSource,
  ) {}

  place(customerId: string): Promise<Order> {
    return this.recorder.transaction(async (tx) => {
      const order = await tx.save(Order, { customerId, status: 'placed' });
      await this.changed(tx, order);
      return order;
    });
  }

  async ship(orders: readonly Order[]): Promise<void> {
    await this.dataSource.transaction(async (tx) => {
      for (const order of orders) await tx.update(Order, order.id, { status: 'shipped' });
      const events = orders.map(({ id, customerId }) => ({
        type: 'order_changed',
        payload: { orderId: id, status: 'shipped', customerId },
      }));
      await this.recorder.record(tx, events);
    });
  }

  remind(order: Order, at: Date): Promise<RecordedDelivery> {
    return this.recorder.transaction((tx) =>
      this.recorder.enqueue(tx, ReminderChannel, {
        destination: `customer ${order.customerId}`,
        payload: { orderId: order.id },
        notBefore: at,
        dedupeKey: `reminder/${order.id}`,
      }),
    );
  }

  private changed(tx: EntityManager, { id, customerId, status }: Order): Promise<unknown> {
    return this.recorder.record(tx, {
      type: 'order_changed',
      payload: { orderId: id, status, customerId },
      actor: `customer ${customerId}`,
    });
  }
}
