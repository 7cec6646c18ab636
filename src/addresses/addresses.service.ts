import { ConflictException, Injectable, NotFoundException } from '@nestjs/common';
import { DeliveryRecorder } from 'nest-deliveries';
import type { EmailAddress } from 'nest-deliveries/email';
import { randomUUID } from 'node:crypto';
import { DataSource, type EntityManager } from 'typeorm';
import { violates } from '../database';
import { LinkTokens, tokenDigest } from '../links/link-tokens';
import { Notifier } from '../notifications/notifier';
import { addressAdded } from './address-events';

interface StoredAddress {
  readonly id: string;
  readonly email: string;
  readonly accountId: string;
  readonly primary: boolean;
  readonly verified: boolean;
  readonly replaces: string | null;
}

const columns = `id, email, account_id AS "accountId", is_primary AS "primary", verified_at IS NOT NULL AS verified, replaces`;

/** What may be done with the addresses of an account. Changes of one account wait for each other. */
@Injectable()
export class AddressesService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly recorder: DeliveryRecorder,
    private readonly notifier: Notifier,
    private readonly tokens: LinkTokens,
  ) {}

  /** Adds an address, which counts once its link is followed. @returns its id */
  add(accountId: string, email: EmailAddress): Promise<string> {
    return this.changing(accountId, (tx) => this.addIn(tx, accountId, email));
  }

  /** {@link add} inside a transaction that has the account already. @param replaces the verified address that goes when this one is verified */
  async addIn(
    tx: EntityManager,
    accountId: string,
    email: EmailAddress,
    replaces: string | null = null,
  ): Promise<string> {
    const id = randomUUID();
    await tx.query(
      `INSERT INTO addresses (id, account_id, email, replaces, token_digest, link_expires_at)
       VALUES ($1, $2, $3, $4, $5, clock_timestamp() + interval '24 hours')`,
      [id, accountId, email, replaces, this.tokens.digestOf('verification', id)],
    );
    await this.notifier.record(tx, addressAdded(accountId, id), [
      { accountId, kind: 'address_added', data: { address: { id, email } } },
    ]);
    return id;
  }

  /**
   * Puts another address in the place of one: at once where the old one was never verified, and when the new one is verified
   * otherwise, so that a typing error costs nobody their account.
   *
   * @returns the new address's id
   * @throws NotFoundException, ConflictException
   */
  replace(accountId: string, id: string, email: EmailAddress): Promise<string> {
    return this.changing(accountId, async (tx) => {
      const old = await this.own(tx, accountId, id);
      if (!old.verified) await tx.query('DELETE FROM addresses WHERE id = $1', [id]);
      return this.addIn(tx, accountId, email, old.verified ? id : null);
    });
  }

  /** @throws NotFoundException; ConflictException for a primary address while another could be primary */
  async remove(accountId: string, id: string): Promise<void> {
    await this.changing(accountId, async (tx) => {
      const address = await this.own(tx, accountId, id);
      const [{ others }] = await tx.query<[{ others: boolean }]>(
        'SELECT EXISTS (SELECT FROM addresses WHERE account_id = $1 AND id <> $2 AND verified_at IS NOT NULL) AS others',
        [accountId, id],
      );
      if (address.primary && others) throw new ConflictException('Make another address the primary one first.');
      await tx.query('DELETE FROM addresses WHERE id = $1', [id]);
      const { email } = address;
      // An address that was never verified may be a stranger's: nobody there is told anything.
      await this.notifier.record(
        tx,
        { type: 'address_removed', payload: { accountId, addressId: id } },
        address.verified ? [{ accountId, kind: 'address_removed', data: { address: { id, email } } }] : [],
      );
    });
  }

  /** @throws NotFoundException; ConflictException for an address that is not verified */
  async makePrimary(accountId: string, id: string): Promise<void> {
    await this.changing(accountId, async (tx) => {
      const { email, primary, verified } = await this.own(tx, accountId, id);
      if (!verified) throw new ConflictException('Follow the link that was sent to this address first.');
      if (primary) return;
      await this.setPrimary(tx, accountId, id);
      await this.notifier.record(tx, { type: 'primary_address_changed', payload: { accountId, addressId: id } }, [
        { accountId, kind: 'primary_changed', data: { address: { id, email } } },
      ]);
    });
  }

  /**
   * What following a link does.
   * @throws NotFoundException for a link that was used, has expired, or never was; ConflictException for an address that somebody
   *   else has verified
   */
  async verify(token: string): Promise<void> {
    const gone = new NotFoundException(
      'This link was used, has expired, or was replaced. Add the address again for a new one.',
    );
    const digest = tokenDigest(token);
    const [owner] = await this.dataSource.query<{ accountId: string }[]>(
      'SELECT account_id AS "accountId" FROM addresses WHERE token_digest = $1',
      [digest],
    );
    if (!owner) throw gone;
    await this.changing(owner.accountId, async (tx) => {
      const [[address]] = await tx.query<[StoredAddress[], number]>(
        `UPDATE addresses SET verified_at = clock_timestamp(), token_digest = NULL, link_expires_at = NULL
          WHERE token_digest = $1 AND link_expires_at > now()
            AND EXISTS (SELECT FROM accounts WHERE id = account_id AND status = 'active')
         RETURNING ${columns}`,
        [digest],
      );
      if (!address) throw gone;
      await this.takePlace(tx, address);
    });
  }

  /** A verified address becomes primary where there is none, and takes the place of the one that it replaces. */
  private async takePlace(tx: EntityManager, { id, accountId, replaces }: StoredAddress): Promise<void> {
    const [[old]] = await tx.query<[StoredAddress[], number]>(
      `DELETE FROM addresses WHERE id = $1 RETURNING ${columns}`,
      [replaces],
    );
    const [{ lacking }] = await tx.query<[{ lacking: boolean }]>(
      'SELECT NOT EXISTS (SELECT FROM addresses WHERE account_id = $1 AND is_primary) AS lacking',
      [accountId],
    );
    if (lacking) await this.setPrimary(tx, accountId, id);
    await this.notifier.record(
      tx,
      { type: 'address_verified', payload: { accountId, addressId: id } },
      old ? [{ accountId, kind: 'address_replaced', data: { address: { id: old.id, email: old.email } } }] : [],
    );
  }

  /** In two steps: a unique index is checked row by row. */
  private async setPrimary(tx: EntityManager, accountId: string, id: string): Promise<void> {
    await tx.query('UPDATE addresses SET is_primary = false WHERE account_id = $1 AND is_primary', [accountId]);
    await tx.query('UPDATE addresses SET is_primary = true WHERE id = $1', [id]);
  }

  private async own(tx: EntityManager, accountId: string, id: string): Promise<StoredAddress> {
    const [address] = await tx.query<StoredAddress[]>(
      `SELECT ${columns} FROM addresses WHERE id = $2 AND account_id = $1`,
      [accountId, id],
    );
    if (!address) throw new NotFoundException('You have no such address.');
    return address;
  }

  private async changing<T>(accountId: string, work: (tx: EntityManager) => Promise<T>): Promise<T> {
    try {
      return await this.recorder.transaction(async (tx) => {
        await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
        return work(tx);
      });
    } catch (error) {
      if (violates(error, 'addresses_once_for_each_account'))
        throw new ConflictException('You have this address already.');
      if (violates(error, 'addresses_proven_once'))
        throw new ConflictException('This address belongs to another account.');
      throw error;
    }
  }
}
