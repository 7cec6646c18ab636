import type { WorkerDatabase } from '../database/worker-database';
import type { DueWork } from '../delivery/claim-path';
import { encodeNotification } from './notification';

/**
 * In ms. The first notification leaves at once; what comes within this time of it leaves together. NOTIFY takes a lock of the
 * whole database when its transaction commits.
 */
const debounce = 10;

/**
 * `synchronous_commit = off` for this transaction: a wake-up that a crash of the server loses is found by a poll, and nobody
 * has to wait for a disk.
 */
const notifySql = `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)`;

/** Tells other replicas what became due: on the workers' own connections, never inside a caller's transaction. */
export class Notifier {
  private readonly pending = new Map<string, DueWork>();
  private timer: NodeJS.Timeout | undefined;
  private sending: Promise<void> | undefined;

  constructor(
    private readonly database: WorkerDatabase,
    private readonly channel: string,
    private readonly from: string,
  ) {}

  announce(work: readonly DueWork[]): void {
    for (const each of work) {
      const key = `${each.channel} ${each.path}`;
      this.pending.set(key, { ...each, count: each.count + (this.pending.get(key)?.count ?? 0) });
    }
    if (this.pending.size > 0 && !this.timer && !this.sending) this.send();
  }

  async say(payload: string): Promise<void> {
    await this.database.query('deliveries_notify', notifySql, [this.channel, payload]);
  }

  /** Sends what waits and resolves when it is sent, or could not be. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    await this.sending;
    clearTimeout(this.timer);
    if (this.pending.size > 0) this.send();
    await this.sending;
    clearTimeout(this.timer);
  }

  private send(): void {
    const work = [...this.pending.values()];
    this.pending.clear();
    const payload = encodeNotification({ from: this.from, work });
    this.sending = this.say(payload)
      // Polls find what nobody was told of.
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        this.sending = undefined;
        this.timer = setTimeout(() => {
          this.timer = undefined;
          if (this.pending.size > 0) this.send();
        }, debounce);
        this.timer.unref();
      });
  }
}
