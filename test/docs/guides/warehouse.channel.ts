import { DeliveryChannel, type Attempt, type ChannelHandler, type Delivery, type DeliveryEvent } from 'nest-deliveries';
import { OutboundHttp, outcomeOf } from 'nest-deliveries/outbound-http';

export interface OrderChange {
  readonly orderId: string;
  readonly status: string;
}

export interface ForCustomer {
  readonly customerId: string;
}

@DeliveryChannel({ name: 'warehouse', maxAge: '2d', sendTimeout: '5s' })
export class WarehouseChannel implements ChannelHandler<OrderChange, ForCustomer> {
  constructor(private readonly http: OutboundHttp) {}

  deliveries({ type, payload }: DeliveryEvent) {
    if (type !== 'order_changed') return [];
    const { orderId, status, customerId } = payload as OrderChange & ForCustomer;
    return [
      {
        destination: `warehouse, order ${orderId}`,
        payload: { orderId, status },
        recipient: { customerId },
        orderingKey: orderId,
      },
    ];
  }

  async send({ id, payload }: Delivery<OrderChange, ForCustomer>, attempt: Attempt) {
    const result = await this.http.post(process.env.WAREHOUSE_URL ?? 'https://warehouse.example/orders', {
      headers: { 'content-type': 'application/json', 'idempotency-key': id },
      body: JSON.stringify(payload),
      signal: attempt.signal,
    });
    return outcomeOf(result);
  }
}
