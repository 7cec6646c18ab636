import { Injectable } from '@nestjs/common';
import { DeliveryRecorder } from 'nest-deliveries';
import { sessionRevoked } from 'nest-deliveries/backchannel-logout';
import { randomBytes } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { tokenDigest } from '../links/link-tokens';

/** Which sessions end: all of an account, all but one, or one. */
export interface EndingSessions {
  readonly accountId: string;
  readonly except?: string;
  readonly only?: string;
}

@Injectable()
export class SessionsService {
  constructor(private readonly recorder: DeliveryRecorder) {}

  /** @returns the token, which is stored nowhere; undefined for an account that is not active */
  async begin(
    tx: EntityManager,
    accountId: string,
    passkeyId: string | null = null,
  ): Promise<{ sessionId: string; token: string } | undefined> {
    const token = randomBytes(32).toString('base64url');
    const [row] = await tx.query<{ id: string }[]>(
      `INSERT INTO sessions (account_id, token_digest, passkey_id, expires_at)
       SELECT id, $2, $3, clock_timestamp() + interval '30 days' FROM accounts WHERE id = $1 AND status = 'active'
          FOR SHARE
       RETURNING id`,
      [accountId, tokenDigest(token), passkeyId],
    );
    return row && { sessionId: row.id, token };
  }

  /**
   * Ends sessions before their time, and records it for each: the one way to do so. One that has expired is removed without a word,
   * since its clients knew when.
   *
   * The lock waits for codes of these sessions that are just being redeemed, and keeps others from it, so that a client either
   * hears of the end or got no tokens.
   *
   * @returns how many ended
   */
  async revokeSessions(tx: EntityManager, { accountId, except, only }: EndingSessions): Promise<number> {
    const ended = await tx.query<{ id: string; early: boolean }[]>(
      `SELECT id, expires_at > now() AS early FROM sessions
        WHERE account_id = $1 AND ($2::uuid IS NULL OR id <> $2) AND ($3::uuid IS NULL OR id = $3)
        ORDER BY id FOR UPDATE`,
      [accountId, except ?? null, only ?? null],
    );
    if (ended.length === 0) return 0;
    await this.recorder.record(
      tx,
      ended.filter(({ early }) => early).map(({ id }) => sessionRevoked({ sub: accountId, sid: id })),
    );
    await tx.query('DELETE FROM sessions WHERE id = ANY($1)', [ended.map(({ id }) => id)]);
    return ended.length;
  }
}
