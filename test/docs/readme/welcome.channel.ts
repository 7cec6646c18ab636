import {
  DeliveryChannel,
  failed,
  retry,
  succeeded,
  type Attempt,
  type ChannelHandler,
  type Delivery,
  type DeliveryEvent,
} from 'nest-deliveries';

interface Welcome {
  readonly accountId: string;
}

@DeliveryChannel({ name: 'welcome', maxAge: '1d' })
export class WelcomeChannel implements ChannelHandler<Welcome> {
  deliveries(event: DeliveryEvent) {
    if (event.type !== 'account_created') return [];
    const { accountId } = event.payload as Welcome;
    return [{ destination: `account ${accountId}`, payload: { accountId } }];
  }

  async send(delivery: Delivery<Welcome>, attempt: Attempt) {
    const response = await fetch(process.env.CRM_URL ?? 'https://crm.example/welcome', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': delivery.id },
      body: JSON.stringify(delivery.payload),
      signal: attempt.signal,
    });
    await response.body?.cancel();
    if (response.ok) return succeeded();
    // What is busy or broken is tried again, for a day; what says no will not say yes.
    const mayPass = response.status === 429 || response.status >= 500;
    return mayPass
      ? retry(response.status, { retryAfter: response.headers.get('retry-after') ?? undefined })
      : failed(response.status);
  }
}
