import { Module } from '@nestjs/common';
import type { DeliveryRecorder } from 'nest-deliveries';
import { sessionRevoked } from 'nest-deliveries/backchannel-logout';
import type { KeyObject } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { BackchannelLogoutModule } from 'nest-deliveries/backchannel-logout';
import { OutboundHttpModule } from 'nest-deliveries/outbound-http';

declare const privateKey: KeyObject;

@Module({
  imports: [
    // beside TypeOrmModule, ScheduleModule and DeliveriesModule
    OutboundHttpModule.forRoot({ isGlobal: true }),
    BackchannelLogoutModule.forRoot({
      issuer: 'https://accounts.example',
      signingKey: () => ({ kid: 'k1', alg: 'ES256', privateKey }),
      clientsOf: ({ sid }, tx) =>
        tx.query(
          `SELECT c.id AS "clientId", c.logout_uri AS "logoutUri"
             FROM session_clients s JOIN clients c ON c.id = s.client_id
            WHERE s.session_id = $1 AND c.logout_uri IS NOT NULL`,
          [sid],
        ),
    }),
  ],
})
export class AppModule {}

export async function revoke(
  recorder: DeliveryRecorder,
  tx: EntityManager,
  sessions: readonly { readonly id: string; readonly accountId: string }[],
): Promise<void> {
  await recorder.record(
    tx,
    sessions.map(({ accountId, id }) => sessionRevoked({ sub: accountId, sid: id })),
  );
}
