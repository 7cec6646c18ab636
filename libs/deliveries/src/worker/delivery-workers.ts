import { Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { SchedulerRegistry } from '@nestjs/schedule';
import type { DataSource } from 'typeorm';
import { Claimer } from '../claim/claimer';
import type { ClaimPath, DueWork } from '../delivery/claim-path';
import { within } from '../database/within';
import type { WorkerDatabase } from '../database/worker-database';
import type { ResolvedOptions } from '../deliveries.options';
import type { AttemptObserver } from '../observe/attempt-observer';
import type { WorkerPulse } from '../observe/worker-pulse';
import type { Channel, ChannelRegistry } from '../channel/channel-registry';
import { abortGrace } from '../send/send';
import { Shutdown } from '../send/shutdown';
import { LaneHolds } from '../pause/lane-holds';
import { Settler } from '../settle/settler';
import type { WakeUps } from '../wake-up/wake-ups';
import { ChannelWorker } from './channel-worker';
import { DeliverClaim } from './deliver-claim';
import { LaneClaim } from './lane-claim';
import { SoloGate } from './solo-gate';

/** How long a stop waits for outcomes and given-back claims to be written when PostgreSQL is slow or away, in ms. */
const writePatience = 5_000;

/** The workers of this process: starts them with the application, wakes them in time, and stops them in order. */
export class DeliveryWorkers implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Deliveries');
  private readonly shutdown = new Shutdown();
  private readonly workers: ChannelWorker[] = [];
  private readonly polls: string[] = [];
  /** By channel, `performance.now()` when its poll last came by. */
  private readonly polledAt = new Map<string, number>();
  private readonly gate = new SoloGate(() => this.wake());
  private settler: Settler | undefined;
  private deliverClaim: DeliverClaim | undefined;
  private stopping: Promise<void> | undefined;

  constructor(
    private readonly dataSource: DataSource,
    private readonly database: WorkerDatabase,
    private readonly channels: ChannelRegistry,
    private readonly scheduler: SchedulerRegistry,
    private readonly observer: AttemptObserver,
    private readonly wakeUps: WakeUps,
    private readonly options: ResolvedOptions,
  ) {}

  onApplicationBootstrap(): void {
    const { run } = this.options;
    const channels = this.channels.all().filter(({ name, workers }) => workers > 0 && (!run || run.includes(name)));
    if (channels.length === 0) return;
    const { schema } = this.options;
    const claimer = new Claimer(this.database, `"${schema}"`);
    const settler = (this.settler = new Settler(this.database, `"${schema}"`));
    const holds = new LaneHolds(this.database, `"${schema}"`);
    this.deliverClaim = new DeliverClaim(
      claimer,
      settler,
      this.dataSource,
      this.observer,
      this.shutdown,
      holds,
      (channel) => this.wakeForHead(channel),
    );
    for (const channel of channels) {
      const lanes = new LaneClaim(channel, claimer, holds);
      for (let count = 0; count < channel.workers; count += 1) {
        const onFull = (): void => this.wakeOthers(channel.name);
        this.workers.push(
          new ChannelWorker(channel, claimer, this.deliverClaim, lanes, this.gate, () => settler.room(), onFull),
        );
      }
      this.poll(channel);
    }
    this.wakeUps.start(
      (work) => this.wakeFor(work),
      () => this.wake(),
    );
    this.wake();
  }

  /** Something may be due: every worker of the channel, or of all channels, looks now. */
  wake(channel?: string): void {
    for (const worker of channel === undefined ? this.workers : this.of(channel)) worker.wake();
  }

  /** Deliveries that this process is sending. */
  get inFlight(): number {
    return this.workers.reduce((sum, worker) => sum + worker.inFlight, 0);
  }

  /** Signs of life, one for each channel that this process sends; none from the moment it stops. */
  pulses(): WorkerPulse[] {
    if (this.stopping) return [];
    return [...this.polledAt].map(([channel, polledAt]) => {
      const workers = this.of(channel);
      return {
        channel,
        sincePoll: performance.now() - polledAt,
        claiming: Math.max(...workers.map((worker) => worker.lookingFor)),
        inFlight: workers.reduce((sum, worker) => sum + worker.inFlight, 0),
      };
    });
  }

  /** Before the hook in which TypeORM closes the host's connections. */
  beforeApplicationShutdown(): Promise<void> {
    this.stopping ??= this.stop();
    return this.stopping;
  }

  /** Claims nothing more, lets sends end, aborts those that take too long, writes their outcomes. */
  private async stop(): Promise<void> {
    for (const name of this.polls) if (this.scheduler.doesExist('interval', name)) this.scheduler.deleteInterval(name);
    this.deliverClaim?.stopChaining();
    this.gate.close();
    // Beside the sends and not before them: a claim that PostgreSQL does not answer takes nothing from their grace.
    const claimsEnded = Promise.all(this.workers.map((worker) => worker.stop()));
    const deliveries = this.deliverClaim;
    if (!deliveries) return this.wakeUps.stop();
    await within(this.options.shutdownGrace, deliveries.returned());
    if (this.inFlight > 0) {
      this.logger.warn(`${this.inFlight} deliveries are still being sent after the shut-down grace: aborting them.`);
      this.shutdown.abort();
      await within(abortGrace + 100, deliveries.returned());
    }
    await within(writePatience, Promise.all([claimsEnded, deliveries.settled()]));
    this.settler?.close();
    await this.wakeUps.stop();
  }

  private of(channel: string): ChannelWorker[] {
    return this.workers.filter((worker) => worker.channel.name === channel);
  }

  /**
   * One look is enough to find what just became due: by the worker with most room, or by the first that gets some. When it
   * finds more than it has slots for, it calls the others.
   * @returns whether this process has slots for all of it
   */
  private wakeFor({ channel, path, count }: DueWork): boolean {
    const workers = this.of(channel);
    const worker = this.idlest(workers);
    worker?.wake([path]);
    return workers.reduce((room, each) => room + each.room, 0) >= count;
  }

  private wakeForHead(channel: string): void {
    this.idlest(this.of(channel))!.wake(['ordered'] satisfies ClaimPath[]);
  }

  /** A worker found more than it has slots for: those with room help. */
  private wakeOthers(channel: string): void {
    const free = this.of(channel).filter((worker) => worker.room > 0);
    for (const worker of free) worker.wake();
    if (free.length === 0) this.wakeUps.overflow(channel);
  }

  private idlest(workers: readonly ChannelWorker[]): ChannelWorker | undefined {
    return workers.toSorted((a, b) => b.room - a.room)[0];
  }

  private poll(channel: Channel): void {
    const name = `deliveries:${this.options.schema}:poll:${channel.name}`;
    const { pollInterval } = this.options;
    const workers = this.of(channel.name);
    this.polledAt.set(channel.name, performance.now());
    const timer = setInterval(() => {
      this.polledAt.set(channel.name, performance.now());
      // One worker looks, and calls another when it finds more than it has slots for. Jitter: replicas that started
      // together do not ask together.
      const worker = this.idlest(workers)!;
      setTimeout(() => void worker.poll(), (Math.random() * pollInterval) / 5).unref();
    }, pollInterval);
    this.scheduler.addInterval(name, timer);
    this.polls.push(name);
  }
}
