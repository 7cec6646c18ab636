import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { DeliveryOperations, DeliveryRecorder } from 'nest-deliveries';
import type { EmailAddress } from 'nest-deliveries/email';
import type { EntityManager } from 'typeorm';
import { AnnouncementChannel } from '../announcements/announcement.channel';
import { violates } from '../database';
import { Notifier } from '../notifications/notifier';
import { SessionsService } from '../sessions/sessions.service';

/** An account that comes from another system, where its address was verified. */
export interface MovedAccount {
  readonly handle: string;
  readonly email: EmailAddress;
}

/** What operators do with accounts. */
@Injectable()
export class AccountsAdminService {
  constructor(
    private readonly recorder: DeliveryRecorder,
    private readonly operations: DeliveryOperations,
    private readonly notifier: Notifier,
    private readonly sessions: SessionsService,
  ) {}

  /** All or none, in one statement. @throws ConflictException when a handle or an address is taken */
  async move(accounts: readonly MovedAccount[]): Promise<void> {
    try {
      await this.recorder.transaction((tx) =>
        tx.query(
          `WITH moved AS (
             INSERT INTO accounts (handle) SELECT handle FROM unnest($1::text[]) AS handle RETURNING id, handle
           )
           INSERT INTO addresses (account_id, email, is_primary, verified_at)
           SELECT moved.id, given.email, true, clock_timestamp()
             FROM moved JOIN unnest($1::text[], $2::text[]) AS given (handle, email) USING (handle)`,
          [accounts.map(({ handle }) => handle), accounts.map(({ email }) => email)],
        ),
      );
    } catch (error) {
      if (!violates(error, 'accounts_handle_taken') && !violates(error, 'addresses_proven_once')) throw error;
      throw new ConflictException('A handle or an address is taken; no account was moved.');
    }
  }

  /** Ends every session. @throws NotFoundException */
  async disable(accountId: string): Promise<void> {
    await this.recorder.transaction(async (tx) => {
      await this.setStatus(tx, accountId, 'disabled');
      await this.sessions.revokeSessions(tx, { accountId });
      await this.recorder.record(tx, { type: 'account_disabled', payload: { accountId } });
    });
  }

  /** @throws NotFoundException */
  async enable(accountId: string): Promise<void> {
    await this.recorder.transaction((tx) => this.setStatus(tx, accountId, 'active'));
  }

  /**
   * Deletes an account with all that belongs to it. Clients hear that its sessions ended, and what was recorded for its addresses
   * still arrives; announcements that are under way would find nobody, and are deleted.
   *
   * @throws NotFoundException
   */
  async purge(accountId: string): Promise<void> {
    await this.recorder.transaction(async (tx) => {
      const [account] = await tx.query<unknown[]>('SELECT id FROM accounts WHERE id = $1 FOR UPDATE', [accountId]);
      if (!account) throw unknown();
      await this.sessions.revokeSessions(tx, { accountId });
      await this.operations.purge(tx, AnnouncementChannel, { recipient: { accountId } });
      await tx.query('DELETE FROM accounts WHERE id = $1', [accountId]);
      await this.recorder.record(tx, { type: 'account_purged', payload: { accountId } });
    });
  }

  /** @throws NotFoundException */
  async alert(accountId: string, { subject, text }: { subject: string; text: string }): Promise<void> {
    await this.recorder.transaction(async (tx) => {
      const [account] = await tx.query<unknown[]>('SELECT id FROM accounts WHERE id = $1 FOR KEY SHARE', [accountId]);
      if (!account) throw unknown();
      await this.notifier.record(tx, { type: 'alert_raised', payload: { accountId } }, [
        { accountId, kind: 'alert', data: { subject, text } },
      ]);
    });
  }

  private async setStatus(tx: EntityManager, accountId: string, status: 'active' | 'disabled'): Promise<void> {
    const [, changed] = await tx.query<[unknown, number]>('UPDATE accounts SET status = $2 WHERE id = $1', [
      accountId,
      status,
    ]);
    if (changed === 0) throw unknown();
  }
}

const unknown = (): NotFoundException => new NotFoundException('There is no account of this id.');
