import { Client } from 'pg';
import type { MailArrival } from '../../../src/demo/mail-sink';
import { gate, until } from '../../faults/support/facts';
import { Replica } from './replica';
import { configurationOf, Service } from './service';

/** Deliveries that one replica sends at once: two workers with ten each. */
export const slots = 20;

interface Progress {
  readonly id: string;
  readonly recipients: number;
  readonly emails: number;
  readonly pending: number;
  readonly sent: number;
  readonly failed: number;
  readonly skipped: number;
  readonly removed: number;
}

/**
 * An announcement that is sent by replicas which are killed, one after the other. The service of the test itself sends nothing; it
 * is what operators ask.
 */
export class AnnouncementRun {
  kills = 0;
  private replica: Replica | undefined;

  private constructor(readonly service: Service) {}

  static async start(): Promise<AnnouncementRun> {
    return new AnnouncementRun(await Service.start({ deliveries: { run: [] } }));
  }

  async close(): Promise<void> {
    await this.replica?.kill();
    await this.service.close();
  }

  async move(count: number, prefix = 'of-many'): Promise<void> {
    const accounts = Array.from({ length: count }, (_, index) => ({
      handle: `${prefix}-${index}`,
      email: `${prefix}-${index}@example.com`,
    }));
    for (let from = 0; from < count; from += 1_000) {
      const body = { accounts: accounts.slice(from, from + 1_000) };
      await this.service.must('POST', '/admin/accounts/move', { token: 'operator', body });
    }
  }

  /** @returns its address */
  async startReplica(): Promise<string> {
    const { database, mail, secrets } = this.service;
    // Nothing else makes up for what a kill leaves behind.
    this.replica = new Replica(configurationOf(database.url, mail.url, secrets));
    return this.replica.url();
  }

  /** SIGKILL; its claims end now in the place of a minute later. */
  async kill(): Promise<void> {
    this.kills += 1;
    await this.replica!.kill();
    await this.service.database.query(
      `UPDATE deliveries.deliveries SET due_at = clock_timestamp(), lease_expires_at = clock_timestamp() WHERE claim_token IS NOT NULL`,
    );
  }

  /** Has the replica killed while it writes an announcement, and says what is left of that. */
  async killInFanOut(url: string): Promise<number> {
    const holder = new Client({ connectionString: this.service.database.url });
    await holder.connect();
    try {
      // Read by the fan-out, and by nothing before it.
      await holder.query('BEGIN; LOCK TABLE addresses IN ACCESS EXCLUSIVE MODE');
      const lost = this.announceAt(url).catch(() => undefined);
      await until('the fan-out waits', async () => {
        const waiting = await this.service.database.query(
          `SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%WITH source AS%'`,
        );
        return waiting.length > 0;
      });
      this.kills += 1;
      await this.replica!.kill();
      await lost;
    } finally {
      await holder.query('ROLLBACK');
      await holder.end();
    }
    return until('its transaction is gone', async () => {
      const [{ left, open }] = (await this.service.database.query(
        `SELECT (SELECT count(*) FROM announcements)::integer + (SELECT count(*) FROM notifications)::integer
                + (SELECT count(*) FROM deliveries.deliveries)::integer AS left,
                EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL
                           AND pid <> pg_backend_pid() AND query LIKE '%WITH source AS%') AS open`,
      )) as [{ left: number; open: boolean }];
      return !open && { left };
    }).then(({ left }) => left);
  }

  async announceAt(url: string): Promise<Progress> {
    const response = await fetch(`${url}/admin/announcements`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer known-to-operators' },
      body: JSON.stringify({ subject: 'To all', text: 'All the same.', essential: false }),
    });
    return (await response.json()) as Progress;
  }

  /** Kills the replica when so many messages were taken and every slot has one under way. */
  async killInSmtp(taken: number): Promise<void> {
    const held = gate();
    let underWay = 0;
    this.service.mail.behave(() => {
      if (this.service.mail.arrivals.length < taken) return undefined;
      underWay += 1;
      return held.passed.then(() => 'kept' as const);
    });
    await until(`${taken} were taken and the slots are full`, () => underWay >= slots, 30_000);
    await this.kill();
    this.service.mail.behave(() => undefined);
    // What was under way has arrived as a whole, so the relay takes it, although nobody hears so any more.
    held.open();
  }

  progress(id: string): Promise<Progress> {
    return this.service.must<Progress>('GET', `/admin/announcements/${id}`, { token: 'operator' });
  }

  finished(id: string): Promise<Progress> {
    return until(
      'the announcement is finished',
      async () => {
        const progress = await this.progress(id);
        return progress.pending === 0 && progress;
      },
      60_000,
    );
  }

  /** What was taken for the accounts with a prefix, by mailbox. */
  copies(prefix = 'of-many'): Map<string, MailArrival[]> {
    const boxes = new Map<string, MailArrival[]>();
    for (const mail of this.service.mail.arrivals) {
      if (mail.to.startsWith(`${prefix}-`)) boxes.set(mail.to, [...(boxes.get(mail.to) ?? []), mail]);
    }
    return boxes;
  }
}
