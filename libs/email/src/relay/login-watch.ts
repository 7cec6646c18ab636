import { Logger, type BeforeApplicationShutdown } from '@nestjs/common';
import type { ChannelPauses } from 'nest-deliveries';
import type { Relay } from './relay';

/** The reason of the pause, as operators see it. */
export const loginRejected = 'login_rejected';

/** A pause outlives this many tries: then the process that made it is gone, and whoever sends next finds out anew. */
const triesPerPause = 2;

/**
 * While the relay rejects our login, no message can be sent and none is to blame: pauses the channels of this relay in all replicas,
 * tries a login now and then, and lets them go on when one works.
 */
export class LoginWatch implements BeforeApplicationShutdown {
  private readonly logger = new Logger('Email');
  private timer: NodeJS.Timeout | undefined;
  private watching = false;
  private stopped = false;

  /**
   * @param interval between two tries, in ms
   * @param patience what a try may take, in ms: a relay that is slow to answer must not let the pause run out
   */
  constructor(
    private readonly relay: Relay,
    private readonly pauses: ChannelPauses,
    private readonly channels: readonly string[],
    private readonly interval: number,
    private readonly patience: number,
  ) {}

  /** A send was turned away at the login. Resolves when the channels are paused. */
  async rejected(): Promise<void> {
    if (this.watching || this.stopped) return;
    this.watching = true;
    this.logger.error(
      `The relay rejects the login: ${this.inWords()} until one works. Correct the user and password in the option url.`,
    );
    await this.pause();
    this.tryLater();
  }

  beforeApplicationShutdown(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private tryLater(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.tryNow(), this.interval);
    this.timer.unref();
  }

  private async tryNow(): Promise<void> {
    const { reached } = await this.relay.verify();
    if (reached ? await this.resume() : await this.pause()) this.watching = !reached;
    if (this.watching) this.tryLater();
  }

  /** A database that is away is logged by those whose it is; the next try pauses again. */
  private async pause(): Promise<boolean> {
    const ms = triesPerPause * (this.interval + this.patience);
    return this.each((channel) => this.pauses.pause(channel, loginRejected, ms));
  }

  private async resume(): Promise<boolean> {
    const resumed = await this.each((channel) => this.pauses.resume(channel, loginRejected));
    if (resumed) this.logger.log(`The relay accepts the login again: ${this.channels.join(', ')} goes on.`);
    return resumed;
  }

  private async each(work: (channel: string) => Promise<unknown>): Promise<boolean> {
    const done = await Promise.allSettled(this.channels.map(work));
    return done.every(({ status }) => status === 'fulfilled');
  }

  private inWords(): string {
    const [first, ...others] = this.channels;
    return others.length === 0 ? `channel ${first} is paused` : `channels ${this.channels.join(', ')} are paused`;
  }
}
