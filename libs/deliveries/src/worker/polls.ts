import type { SchedulerRegistry } from '@nestjs/schedule';

/** The polls of this process: an interval of Nest's SchedulerRegistry for each channel. */
export class Polls {
  /** By channel, `performance.now()` when its poll last came by. */
  private readonly cameBy = new Map<string, number>();

  /**
   * @param interval in ms
   * @param timers what the names of the intervals begin with
   */
  constructor(
    private readonly scheduler: SchedulerRegistry,
    private readonly interval: number,
    private readonly timers: string,
  ) {}

  /** @param look called at each poll, a moment after it */
  start(channel: string, look: () => void): void {
    this.cameBy.set(channel, performance.now());
    const timer = setInterval(() => {
      this.cameBy.set(channel, performance.now());
      // Jitter: replicas that started together do not ask together.
      setTimeout(look, (Math.random() * this.interval) / 5).unref();
    }, this.interval);
    this.scheduler.addInterval(this.nameOf(channel), timer);
  }

  stop(channel: string): void {
    const name = this.nameOf(channel);
    if (this.scheduler.doesExist('interval', name)) this.scheduler.deleteInterval(name);
    this.cameBy.delete(channel);
  }

  stopAll(): void {
    for (const channel of this.cameBy.keys()) this.stop(channel);
  }

  /** Channels that are polled, each with the time since its poll came by, in ms. */
  since(): { readonly channel: string; readonly sincePoll: number }[] {
    return [...this.cameBy].map(([channel, at]) => ({ channel, sincePoll: performance.now() - at }));
  }

  private nameOf(channel: string): string {
    return `${this.timers}:poll:${channel}`;
  }
}
