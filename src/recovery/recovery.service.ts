import { ForbiddenException, Injectable, NotFoundException } from '@nestjs/common';
import { DeliveryRecorder } from 'nest-deliveries';
import type { EmailAddress } from 'nest-deliveries/email';
import { randomUUID } from 'node:crypto';
import type { EntityManager } from 'typeorm';
import { LinkTokens, tokenDigest } from '../links/link-tokens';
import { Notifier } from '../notifications/notifier';
import type { Session } from '../sessions/session.guard';
import { SessionsService } from '../sessions/sessions.service';
import { recoveryStarted } from './recovery-events';

/** What a recovery did. */
export interface CompletedRecovery {
  readonly recoveryId: string;
  /** The passkey that it added; undefined when it took every passkey away. */
  readonly passkey?: string;
}

interface OpenRecovery {
  readonly id: string;
  readonly accountId: string;
}

/** How somebody who lost their passkeys gets back in: with a link to the primary address. */
@Injectable()
export class RecoveryService {
  constructor(
    private readonly recorder: DeliveryRecorder,
    private readonly notifier: Notifier,
    private readonly tokens: LinkTokens,
    private readonly sessions: SessionsService,
  ) {}

  /**
   * Sends a link to a primary address of an active account, unless one left in the last five minutes. Says nothing about whether
   * there is one: whoever asks need not be its owner.
   */
  async start(email: EmailAddress): Promise<void> {
    await this.recorder.transaction(async (tx) => {
      const [found] = await tx.query<{ accountId: string; addressId: string }[]>(
        `SELECT a.id AS "accountId", ad.id AS "addressId"
           FROM addresses ad JOIN accounts a ON a.id = ad.account_id
          WHERE lower(ad.email) = lower($1) AND ad.verified_at IS NOT NULL AND ad.is_primary AND a.status = 'active'
            FOR NO KEY UPDATE OF a`,
        [email],
      );
      // Another statement: it sees what the lock was waited for.
      if (!found || (await this.startedLately(tx, found.accountId))) return;
      const recoveryId = randomUUID();
      await tx.query(
        `INSERT INTO recoveries (id, account_id, address_id, token_digest, expires_at)
         VALUES ($1, $2, $3, $4, clock_timestamp() + interval '24 hours')`,
        [recoveryId, found.accountId, found.addressId, this.tokens.digestOf('recovery', recoveryId)],
      );
      await this.recorder.record(tx, recoveryStarted({ recoveryId, ...found }));
    });
  }

  /** @throws NotFoundException for a recovery that cannot be cancelled any more */
  async cancel(accountId: string, recoveryId: string): Promise<void> {
    await this.recorder.transaction(async (tx) => {
      const [, cancelled] = await tx.query<[unknown, number]>(
        `UPDATE recoveries SET cancelled_at = clock_timestamp()
          WHERE id = $1 AND account_id = $2 AND used_at IS NULL AND cancelled_at IS NULL`,
        [recoveryId, accountId],
      );
      if (cancelled === 0) throw new NotFoundException('You have no such recovery that is open.');
    });
  }

  /**
   * What following a link does: ends every session, and either adds a passkey or, without one, takes every passkey away. Every
   * verified address hears of it.
   *
   * @throws NotFoundException for a link that was used, cancelled, has expired, or never was
   */
  complete(token: string, passkey: string | undefined): Promise<CompletedRecovery> {
    return this.recorder.transaction(async (tx) => {
      const { id: recoveryId, accountId } = await this.use(tx, tokenDigest(token));
      await this.sessions.revokeSessions(tx, { accountId });
      if (passkey === undefined) {
        await tx.query('DELETE FROM passkeys WHERE account_id = $1', [accountId]);
        await this.notifier.record(tx, { type: 'account_secured', payload: { accountId, recoveryId } }, [
          { accountId, kind: 'account_secured', data: { recoveryId } },
        ]);
        return { recoveryId };
      }
      const undoable = await this.addPasskey(tx, recoveryId, accountId, passkey);
      await this.notifier.record(tx, { type: 'account_recovered', payload: { accountId, recoveryId } }, [
        { accountId, kind: 'recovered', data: { recoveryId, passkey, undoable } },
      ]);
      return { recoveryId, passkey };
    });
  }

  /**
   * Takes the passkey of a recovery away again, and ends the other sessions. Only for who is signed in with a passkey that is
   * older than the recovery, within seven days.
   *
   * @throws NotFoundException, ForbiddenException
   */
  async undo({ id: sessionId, accountId, passkeyId }: Session, recoveryId: string): Promise<void> {
    await this.recorder.transaction(async (tx) => {
      const [recovery] = await tx.query<{ passkeyId: string; older: boolean | null }[]>(
        `SELECT r.passkey_id AS "passkeyId", p.created_at < r.used_at AND p.id <> r.passkey_id AS older
           FROM recoveries r LEFT JOIN passkeys p ON p.id = $3
          WHERE r.id = $1 AND r.account_id = $2 AND r.passkey_id IS NOT NULL AND r.undone_at IS NULL
            AND r.used_at > now() - interval '7 days'
            FOR UPDATE OF r`,
        [recoveryId, accountId, passkeyId],
      );
      if (!recovery) throw new NotFoundException('You have no such recovery that could be undone.');
      if (!recovery.older) throw new ForbiddenException('Sign in with a passkey that is older than the recovery.');
      await tx.query('UPDATE recoveries SET undone_at = clock_timestamp() WHERE id = $1', [recoveryId]);
      await this.sessions.revokeSessions(tx, { accountId, except: sessionId });
      await tx.query('DELETE FROM passkeys WHERE id = $1', [recovery.passkeyId]);
      await this.notifier.record(tx, { type: 'recovery_undone', payload: { accountId, recoveryId } }, [
        { accountId, kind: 'recovery_undone', data: { recoveryId } },
      ]);
    });
  }

  private async startedLately(tx: EntityManager, accountId: string): Promise<boolean> {
    const [{ lately }] = await tx.query<[{ lately: boolean }]>(
      `SELECT EXISTS (SELECT FROM recoveries WHERE account_id = $1 AND used_at IS NULL AND cancelled_at IS NULL
                         AND started_at > now() - interval '5 minutes') AS lately`,
      [accountId],
    );
    return lately;
  }

  private async use(tx: EntityManager, digest: Buffer): Promise<OpenRecovery> {
    const [[recovery]] = await tx.query<[OpenRecovery[], number]>(
      `UPDATE recoveries r SET used_at = clock_timestamp() FROM accounts a
        WHERE r.token_digest = $1 AND a.id = r.account_id AND a.status = 'active'
          AND r.used_at IS NULL AND r.cancelled_at IS NULL AND r.expires_at > now()
       RETURNING r.id, r.account_id AS "accountId"`,
      [digest],
    );
    if (recovery) return recovery;
    throw new NotFoundException('This link was used or cancelled, or has expired. Start another recovery.');
  }

  /** @returns whether another passkey can take this one back */
  private async addPasskey(tx: EntityManager, recoveryId: string, accountId: string, name: string): Promise<boolean> {
    const [{ undoable }] = await tx.query<[{ undoable: boolean }]>(
      'SELECT EXISTS (SELECT FROM passkeys WHERE account_id = $1) AS undoable',
      [accountId],
    );
    await tx.query(
      `WITH added AS (INSERT INTO passkeys (account_id, name) VALUES ($1, $2) RETURNING id)
       UPDATE recoveries SET passkey_id = added.id FROM added WHERE recoveries.id = $3`,
      [accountId, name, recoveryId],
    );
    return undoable;
  }
}
