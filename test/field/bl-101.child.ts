// An application that ends as the reference application does: in order at the first signal, at once at the second.
import 'reflect-metadata';
import { DeliveryChannel, retry, succeeded, type ChannelHandler, type Delivery, type Outcome } from 'nest-deliveries';
import { endInOrder } from '../../src/end-in-order';
import { type DeliveriesApp, startDeliveriesApp } from '../support/deliveries-app';

const [url, receiver] = process.argv.slice(2) as [string, string];

@DeliveryChannel({ name: 'http', maxAge: '1d', sendTimeout: '1m', lease: '10m' })
class Http implements ChannelHandler {
  deliveries(): [] {
    return [];
  }
  async send({ id }: Delivery): Promise<Outcome> {
    const { status } = await fetch(receiver, { method: 'POST', headers: { 'x-id': id } });
    return status === 200 ? succeeded() : retry(status);
  }
}

let app: DeliveriesApp | undefined;
void endInOrder({
  start: async () => {
    app = await startDeliveriesApp(url, [Http], { shutdownGrace: '30s' });
  },
  stop: async () => app?.close(),
});
