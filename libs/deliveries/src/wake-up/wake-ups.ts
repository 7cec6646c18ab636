import { randomUUID } from 'node:crypto';
import type { ClientConfig } from 'pg';
import type { WorkerDatabase } from '../database/worker-database';
import { within } from '../database/within';
import { claimPaths, type DueWork } from '../delivery/claim-path';
import { Listener, type ListenerPace, type ListenState } from './listener';
import { notificationChannel, type Notification } from './notification';
import { Notifier } from './notifier';

/** In ms: how often a process whose workers are full tells the others that there is more. */
const overflowEvery = 250;
/** How long a stop waits for the last announcement, in ms. */
const lastWords = 1_000;

/**
 * Makes latency independent of polls: what was committed here wakes the workers of this process, and those of other processes
 * by NOTIFY when there is more than this one has slots for. Nothing depends on it: a wake-up that is lost costs a poll.
 */
export class WakeUps {
  private readonly name = randomUUID();
  private readonly notifier: Notifier;
  private listener: Listener | undefined;
  private wakeFor: ((work: DueWork) => boolean) | undefined;
  private readonly overflowed = new Map<string, number>();
  private stopped = false;

  /** @param listen how to connect for LISTEN; undefined for not at all, and then nothing is announced either */
  constructor(
    database: WorkerDatabase,
    private readonly schema: string,
    private readonly listen: ClientConfig | undefined,
    private readonly pace?: ListenerPace,
  ) {
    this.notifier = new Notifier(database, notificationChannel(schema), this.name);
  }

  /** `off`: this process does not listen, by its options or because it runs no workers. */
  get state(): ListenState | 'off' {
    return this.listener?.state ?? 'off';
  }

  /**
   * @param wakeFor wakes the workers of this process, and says whether they have slots for all of it
   * @param wakeAll called when anything may be due
   */
  start(wakeFor: (work: DueWork) => boolean, wakeAll: () => void): void {
    this.wakeFor = wakeFor;
    if (!this.listen || this.stopped) return;
    const take = (notification: Notification): void => {
      if (notification.from === this.name || !('work' in notification)) return;
      if (notification.work === 'any') wakeAll();
      else for (const work of notification.work) wakeFor(work);
    };
    this.listener = new Listener(
      this.listen,
      notificationChannel(this.schema),
      this.name,
      (payload) => this.notifier.say(payload),
      take,
      wakeAll,
      this.pace,
    );
    this.listener.start();
  }

  /** Something is committed and due. */
  committed(work: readonly DueWork[]): void {
    if (this.stopped) return;
    const left = work.filter((each) => !this.wakeFor?.(each));
    if (this.listen) this.notifier.announce(left);
  }

  /** The workers of this process found more than they have slots for. */
  overflow(channel: string): void {
    const now = performance.now();
    if (!this.listen || this.stopped || now - (this.overflowed.get(channel) ?? -Infinity) < overflowEvery) return;
    this.overflowed.set(channel, now);
    this.notifier.announce(claimPaths.map((path) => ({ channel, path, count: 1 })));
  }

  /** An operator changed something: anything of the channel may be due. */
  changed(channel: string): void {
    this.committed(claimPaths.map((path) => ({ channel, path, count: Number.MAX_SAFE_INTEGER })));
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all([within(lastWords, this.notifier.flush()), this.listener?.stop()]);
  }
}
