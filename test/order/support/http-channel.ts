import {
  type Attempt,
  type ChannelHandler,
  type Delivery,
  DeliveryChannel,
  type DeliveryDraft,
  type Outcome,
  retry,
  succeeded,
} from 'nest-deliveries';
import type { Parcel } from './parcels';

/** Sends parcels over HTTP to the receiver in `RECEIVER_URL`: for replicas in processes of their own. */
@DeliveryChannel({ name: 'parcels', maxAge: '1d', sendTimeout: '20s', lease: '60s' })
export class HttpParcels implements ChannelHandler<Parcel> {
  deliveries(): DeliveryDraft<Parcel>[] {
    return [];
  }

  async send(delivery: Delivery<Parcel>, attempt: Attempt): Promise<Outcome> {
    const response = await fetch(process.env.RECEIVER_URL!, {
      method: 'POST',
      headers: { 'idempotency-key': delivery.id },
      body: JSON.stringify({
        ...delivery.payload,
        key: delivery.orderingKey,
        attempt: attempt.number,
        pid: process.pid,
      }),
      signal: attempt.signal,
    });
    await response.arrayBuffer();
    return response.ok ? succeeded() : retry(response.status);
  }
}
