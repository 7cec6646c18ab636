import { Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import type { SchedulerRegistry } from '@nestjs/schedule';
import type { DataSource } from 'typeorm';
import { Claimer } from '../claim/claimer';
import type { Claim } from '../delivery/claim';
import type { ClaimPath, DueWork } from '../delivery/claim-path';
import { within } from '../database/within';
import type { WorkerDatabase } from '../database/worker-database';
import type { ResolvedOptions } from '../resolved-options';
import type { AttemptObserver } from '../observe/attempt-observer';
import type { WorkerPulse } from '../observe/worker-pulse';
import type { Channel, ChannelRegistry } from '../channel/channel-registry';
import { abortGrace } from '../send/send';
import { Shutdown } from '../send/shutdown';
import { LaneHolds } from '../pause/lane-holds';
import { Settler } from '../settle/settler';
import type { WakeUps } from '../wake-up/wake-ups';
import { ChannelWorker } from './channel-worker';
import { ClaimByHand } from './claim-by-hand';
import { DeliverClaim, type DeliveredByHand } from './deliver-claim';
import { LaneClaim } from './lane-claim';
import { Polls } from './polls';
import { SoloGate } from './solo-gate';

/** How long a stop waits for outcomes and given-back claims to be written when PostgreSQL is slow or away, in ms. */
const writePatience = 5_000;

/** The workers of this process: starts them with the application, wakes them in time, and stops them in order. */
export class DeliveryWorkers implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Deliveries');
  private readonly shutdown = new Shutdown();
  private readonly workers: ChannelWorker[] = [];
  private readonly polls: Polls;
  private readonly gate = new SoloGate(() => this.wake());
  private readonly claimer: Claimer;
  private readonly settler: Settler;
  private readonly holds: LaneHolds;
  private readonly byHandClaims: ClaimByHand;
  private readonly deliverClaim: DeliverClaim;
  private started = false;
  private manual = false;
  private readonly openedEarly = new Set<Channel>();
  private listening = false;
  private stopping: Promise<void> | undefined;

  constructor(
    dataSource: DataSource,
    database: WorkerDatabase,
    private readonly channels: ChannelRegistry,
    scheduler: SchedulerRegistry,
    observer: AttemptObserver,
    private readonly wakeUps: WakeUps,
    private readonly options: ResolvedOptions,
  ) {
    const schema = `"${options.schema}"`;
    this.polls = new Polls(scheduler, options.pollInterval, options.timers);
    this.claimer = new Claimer(database, schema);
    this.settler = new Settler(database, schema);
    const holds = new LaneHolds(database, schema);
    this.holds = holds;
    this.byHandClaims = new ClaimByHand(this.claimer, holds);
    this.deliverClaim = new DeliverClaim(
      this.claimer,
      this.settler,
      dataSource,
      observer,
      this.shutdown,
      this.holds,
      (channel) => this.wakeForHead(channel),
    );
  }

  onApplicationBootstrap(): void {
    const { run } = this.options;
    this.started = true;
    const declared = this.channels.all().filter(({ name, opened }) => !opened && (!run || run.includes(name)));
    for (const channel of [...declared, ...this.openedEarly]) this.startChannel(channel);
  }

  /** Starts the workers of a channel that came into being while the application runs. */
  open(channel: Channel): void {
    if (this.started) this.startChannel(channel);
    else this.openedEarly.add(channel);
  }

  /** Ends them: nothing more of the channel is claimed here. Resolves when no delivery of it is being sent any more. */
  async close(channel: Channel): Promise<void> {
    this.openedEarly.delete(channel);
    const workers = this.of(channel.name);
    this.polls.stop(channel.name);
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all(workers.map((worker) => worker.idle()));
    for (const worker of workers) this.workers.splice(this.workers.indexOf(worker), 1);
  }

  /**
   * Claims a due delivery of the channel, sends it, and waits until its outcome is written: for a caller who takes the place of
   * the workers. The one that has been due longest, of those without a lane first; never one that has an ordering key.
   * @returns undefined when none is due, or the application stops
   */
  sendNext(channel: Channel): Promise<DeliveredByHand | undefined> {
    return this.sendOne(channel, () => this.byHandClaims.unordered(channel));
  }

  /**
   * From now on no worker starts: nothing is sent but by {@link sendDue}. To be called before the application has started, for
   * tests that decide themselves what happens when.
   */
  byHand(): void {
    this.manual = true;
  }

  /**
   * Claims a due delivery, with an ordering key or without, sends it, and waits until its outcome is written: in the place of
   * workers.
   * @param channelClass whose deliveries; default: those of every channel of this process, the first that has one
   * @returns undefined when none is due, or the application stops
   * @throws UnknownChannelError
   */
  async sendDue(channelClass?: Type): Promise<DeliveredByHand | undefined> {
    const channels = channelClass ? [this.channels.of(channelClass)] : this.channels.all();
    for (const channel of channels) {
      const delivered = await this.sendOne(channel, () => this.byHandClaims.any(channel));
      if (delivered) return delivered;
    }
    return undefined;
  }

  private async sendOne(
    channel: Channel,
    claimIt: () => Promise<Claim | undefined>,
  ): Promise<DeliveredByHand | undefined> {
    if (this.stopping) return undefined;
    this.gate.enter();
    try {
      const claim = await claimIt();
      return claim && (await this.deliverClaim.deliverByHand(channel, claim));
    } finally {
      this.gate.leave();
    }
  }

  private startChannel(channel: Channel): void {
    if (channel.workers === 0 || this.manual || this.stopping) return;
    const lanes = new LaneClaim(channel, this.claimer, this.holds);
    for (let count = 0; count < channel.workers; count += 1) {
      const onFull = (): void => this.wakeOthers(channel.name);
      this.workers.push(
        new ChannelWorker(
          channel,
          this.claimer,
          this.deliverClaim,
          lanes,
          this.gate,
          () => this.settler.room(),
          onFull,
        ),
      );
    }
    const workers = this.of(channel.name);
    // One worker looks, and calls another when it finds more than it has slots for.
    this.polls.start(channel.name, () => void this.idlest(workers)!.poll());
    this.listen();
    this.wake(channel.name);
  }

  /** Once there is somebody to wake. */
  private listen(): void {
    if (this.listening) return;
    this.listening = true;
    this.wakeUps.start(
      (work) => this.wakeFor(work),
      () => this.wake(),
    );
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
    return this.polls.since().map(({ channel, sincePoll }) => {
      const workers = this.of(channel);
      return {
        channel,
        sincePoll,
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
    this.polls.stopAll();
    this.deliverClaim.stopChaining();
    this.gate.close();
    // Beside the sends and not before them: a claim that PostgreSQL does not answer takes nothing from their grace.
    const claimsEnded = Promise.all(this.workers.map((worker) => worker.stop()));
    const deliveries = this.deliverClaim;
    await within(this.options.shutdownGrace, deliveries.returned());
    if (this.inFlight > 0) {
      this.logger.warn(`${this.inFlight} deliveries are still being sent after the shut-down grace: aborting them.`);
      this.shutdown.abort();
      await within(abortGrace + 100, deliveries.returned());
    }
    await within(writePatience, Promise.all([claimsEnded, deliveries.settled()]));
    this.settler.close();
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
    this.idlest(this.of(channel))?.wake(['ordered'] satisfies ClaimPath[]);
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
}
