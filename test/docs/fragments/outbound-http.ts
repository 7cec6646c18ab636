import { Module } from '@nestjs/common';
import type { Attempt, DeliveryEvent, Outcome } from 'nest-deliveries';
import { dnsResolver } from 'nest-deliveries/outbound-http';
import { OutboundHttp, OutboundHttpModule, outcomeOf } from 'nest-deliveries/outbound-http';

@Module({ imports: [OutboundHttpModule.forRoot()] })
export class AppModule {}

export async function send(http: OutboundHttp, event: DeliveryEvent, attempt: Attempt): Promise<Outcome> {
  const result = await http.post('https://receiver.example/hook', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(event),
    signal: attempt.signal,
  });
  return outcomeOf(result);
}

export function resolving(): void {
  OutboundHttpModule.forRoot({ resolver: dnsResolver(['10.0.0.53:53']) });
}
