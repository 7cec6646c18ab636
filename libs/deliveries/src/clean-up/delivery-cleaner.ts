import { Logger, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import type { SchedulerRegistry } from '@nestjs/schedule';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ChannelRegistry } from '../channel/channel-registry';
import { codeOf, isOutage, type WorkerDatabase, type WorkerStatement } from '../database/worker-database';
import type { ResolvedOptions } from '../resolved-options';
import { addTo, emptyTally, inWords, type CleanUpReport, type CleanUpTally } from './clean-up-report';
import { deleteEndedSql } from './delete-ended.sql';
import { deleteAuditEventsSql, deleteIdleEventsSql, deleteUnreferencedEventsSql } from './events.sql';
import { KeyAbandoner, type AbandonCursor } from './key-abandoner';
import { deleteOrderingsSql, lockIdleOrderingsSql, pageOfOrderingsSql } from './orderings.sql';
import { auditRetention, cleanUpSteps, eventRetention, orderingIdleTime, type CleanUpStep } from './retention';

/** Rows that one transaction deletes at most: some 50 ms. */
const batchSize = 1_000;
/** Between two transactions, so that workers, and their replicas, come first; in ms. */
const batchPause = 50;
/** A key with a million deliveries behind it is abandoned in one statement; in ms. */
const statementDeadline = 300_000;
/** Pages of ordering keys that one pass looks at, each `batchSize` long; the next pass goes on from there. */
const orderingPages = 20;

/** One batch of a kind of work. @returns whether there may be more */
type Batch = (run: WorkerStatement) => Promise<boolean>;

/**
 * Deletes what is past its retention: on every replica, one of them at a time. A pass is a row of short transactions on the
 * workers' own connections, none of which waits for anybody; see the README beside this file.
 */
export class DeliveryCleaner implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Deliveries');
  private readonly stopping = new AbortController();
  private readonly cutOff = new AbortController();
  private readonly intervalName: string;
  private readonly lock: string;
  private readonly abandoner: KeyAbandoner;
  private readonly statements: Record<
    'ended' | 'unreferenced' | 'idle' | 'audit' | 'page' | 'lockIdle' | 'orderings',
    string
  >;
  private running: Promise<CleanUpReport> | undefined;
  private jitter: NodeJS.Timeout | undefined;
  private orderingCursor = { channel: '', key: '' };
  private readonly sum = emptyTally();
  private completeAt: number | undefined;
  private ranAt = performance.now();

  constructor(
    private readonly database: WorkerDatabase,
    private readonly channels: ChannelRegistry,
    private readonly scheduler: SchedulerRegistry,
    private readonly options: ResolvedOptions,
  ) {
    const schema = `"${options.schema}"`;
    this.intervalName = `${options.timers}:clean-up`;
    this.lock = `SELECT pg_try_advisory_xact_lock(hashtextextended('nest-deliveries clean-up of ${options.schema}', 0)) AS alone`;
    this.abandoner = new KeyAbandoner(schema);
    this.statements = {
      ended: deleteEndedSql(schema),
      unreferenced: deleteUnreferencedEventsSql(schema),
      idle: deleteIdleEventsSql(schema),
      audit: deleteAuditEventsSql(schema),
      page: pageOfOrderingsSql(schema),
      lockIdle: lockIdleOrderingsSql(schema),
      orderings: deleteOrderingsSql(schema),
    };
  }

  onApplicationBootstrap(): void {
    const { cleanUpInterval } = this.options;
    if (cleanUpInterval === undefined) return;
    const timer = setInterval(() => {
      // Replicas that started together do not clean up together.
      this.jitter = setTimeout(() => void this.runQuietly(), (Math.random() * cleanUpInterval) / 5).unref();
    }, cleanUpInterval);
    this.scheduler.addInterval(this.intervalName, timer);
  }

  /** Stops between two batches, before the connections are closed; a batch that takes too long is rolled back. */
  async beforeApplicationShutdown(): Promise<void> {
    if (this.scheduler.doesExist('interval', this.intervalName)) this.scheduler.deleteInterval(this.intervalName);
    clearTimeout(this.jitter);
    this.stopping.abort();
    const patience = setTimeout(() => this.cutOff.abort(), this.options.shutdownGrace);
    await this.running?.catch(() => undefined);
    clearTimeout(patience);
  }

  /**
   * One pass over everything that is past its retention; a second call during a pass waits for the same one.
   * @returns what it did; `complete` is false when another process was cleaning up
   */
  runOnce(): Promise<CleanUpReport> {
    this.running ??= this.pass().finally(() => (this.running = undefined));
    return this.running;
  }

  /** What the passes of this process did since it started. */
  get totals(): Omit<CleanUpReport, 'complete'> {
    return this.sum;
  }

  /** When a pass of this process last ended: one that went through, in ms since 1970, and any that met no error. */
  get lastRun(): { readonly completeAt: number | undefined; readonly idleFor: number } {
    return { completeAt: this.completeAt, idleFor: performance.now() - this.ranAt };
  }

  private async pass(): Promise<CleanUpReport> {
    const tally = emptyTally();
    const complete = await this.doAll(tally).finally(() => addTo(this.sum, tally));
    this.ranAt = performance.now();
    if (complete) this.completeAt = Date.now();
    const words = inWords(tally);
    if (words !== '') this.logger.log(`Clean-up: ${words}.`);
    return { ...tally, complete };
  }

  /** @returns false when it ended early */
  private async doAll(tally: CleanUpTally): Promise<boolean> {
    const steps = cleanUpSteps(this.channels.all()).map((step) => this.batchOf(step, tally));
    for (const batch of [...steps, ...this.eventBatches(tally), this.orderingBatch(tally)]) {
      if (!(await this.batchAfterBatch(batch))) return false;
    }
    return true;
  }

  /** @returns false when another process is cleaning up, or this one stops */
  private async batchAfterBatch(batch: Batch): Promise<boolean> {
    for (;;) {
      if (this.stopping.signal.aborted) return false;
      const more = await this.alone(batch);
      if (more === undefined) return false;
      if (!more) return true;
      await sleep(batchPause, undefined, { signal: this.stopping.signal }).catch(() => undefined);
    }
  }

  /** Runs a batch in a transaction that no other process's batch overlaps; undefined when one is under way. */
  private alone(batch: Batch): Promise<boolean | undefined> {
    return this.database.transaction(
      async (run) => {
        const [lock] = await run<{ alone: boolean }>(this.lock);
        return lock!.alone ? batch(run) : undefined;
      },
      { deadline: statementDeadline, signal: this.cutOff.signal },
    );
  }

  private batchOf(step: CleanUpStep, tally: CleanUpTally): Batch {
    const { channel, after } = step;
    if (step.do === 'delete') {
      return async (run) => {
        const [row] = await run<Count>(this.statements.ended, [channel, step.ending, after, batchSize]);
        tally.deleted[step.ending] += row!.count;
        return row!.count === batchSize;
      };
    }
    let from: AbandonCursor | undefined;
    return async (run) => {
      const { keys, cancelled, next } = await this.abandoner.abandon(run, channel, after, from);
      tally.abandoned.keys += keys;
      tally.abandoned.cancelled += cancelled;
      from = next;
      return next !== undefined;
    };
  }

  private eventBatches(tally: CleanUpTally): Batch[] {
    return [
      async (run) => {
        const [row] = await run<Count & { seen: number }>(this.statements.unreferenced, [eventRetention, batchSize]);
        tally.events += row!.count;
        return row!.seen > 0;
      },
      async (run) => {
        const [row] = await run<Count>(this.statements.idle, [eventRetention, batchSize]);
        tally.events += row!.count;
        return row!.count === batchSize;
      },
      async (run) => {
        const [row] = await run<Count>(this.statements.audit, [auditRetention, batchSize]);
        tally.auditEvents += row!.count;
        return row!.count === batchSize;
      },
    ];
  }

  private orderingBatch(tally: CleanUpTally): Batch {
    let pages = 0;
    return async (run) => {
      const { channel, key } = this.orderingCursor;
      const page = await run<OrderingRow>(this.statements.page, [channel, key, batchSize, orderingIdleTime]);
      const idle = page.filter((row) => row.idle);
      for (const name of new Set(idle.map((row) => row.channel))) {
        const keys = idle.filter((row) => row.channel === name).map((row) => row.ordering_key);
        tally.orderings += await this.deleteOrderings(run, name, keys);
      }
      const last = page.length === batchSize ? page.at(-1) : undefined;
      this.orderingCursor = last ? { channel: last.channel, key: last.ordering_key } : { channel: '', key: '' };
      pages += 1;
      return last !== undefined && pages < orderingPages;
    };
  }

  private async deleteOrderings(run: WorkerStatement, channel: string, keys: string[]): Promise<number> {
    const locked = await run<OrderingRow>(this.statements.lockIdle, [channel, keys, orderingIdleTime]);
    const [row] = await run<Count>(this.statements.orderings, [
      channel,
      locked.map(({ ordering_key }) => ordering_key),
    ]);
    return row!.count;
  }

  /** Whatever happens, the next pass tries again. */
  private async runQuietly(): Promise<void> {
    try {
      await this.runOnce();
    } catch (error) {
      // An outage is logged where the connection is.
      if (!isOutage(error)) this.logger.error(`Clean-up failed (${codeOf(error)}); the next pass tries again.`);
    }
  }
}

interface Count {
  readonly count: number;
}

interface OrderingRow {
  readonly channel: string;
  readonly ordering_key: string;
  readonly idle: boolean;
}
