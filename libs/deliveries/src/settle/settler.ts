import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, isOutage, type WorkerDatabase } from '../database/worker-database';
import type { Claim } from '../delivery/claim';
import { answerOf, settleParameters, type OutcomeToWrite, type SettleAnswer, type SettleRow } from './settle-statement';
import { settleSql, settleSuccessesSql, wroteBeforeSql } from './settle.sql';

/**
 * - `settled`: written
 * - `lost`: the claim token no longer held the delivery, so the outcome was dropped
 * - `unrecorded`: the database could not take it in time; the delivery will be sent again
 */
export type SettleResult = 'settled' | 'lost' | 'unrecorded';

export interface Settled {
  readonly result: SettleResult;
  /** What comes next in the key, claimed for this worker. */
  readonly next?: Claim | undefined;
}

/** An outcome that is not written yet. Thousands are, so that nothing is made for each that can be made for all. */
interface Entry {
  readonly outcome: OutcomeToWrite;
  readonly onSettled: (settled: Settled) => void;
  /** The connection broke during a write that may have been committed all the same. */
  uncertain: boolean;
}

const batchSize = 1_000;
/** Outcomes that may wait to be written before workers claim more: what a crash would send again. */
const backlogLimit = 2_000;
const longestPause = 3_000;

/**
 * Writes outcomes in batches: whatever has piled up while the last batch was under way goes into the next, so that one
 * outcome is written at once and a thousand share a commit.
 */
export class Settler {
  private readonly logger = new Logger('Deliveries');
  private readonly text: string;
  private readonly successesText: string;
  private readonly wroteBefore: string;
  private queue: Entry[] = [];
  private writing = false;
  private closed = false;
  private open = 0;
  private pause = 0;
  private waitingForRoom: (() => void)[] = [];

  constructor(
    private readonly database: WorkerDatabase,
    schema: string,
  ) {
    this.text = settleSql(schema);
    this.successesText = settleSuccessesSql(schema);
    this.wroteBefore = wroteBeforeSql(schema);
  }

  /** The connections are closed: outcomes that are not written yet are given up instead of tried again. */
  close(): void {
    this.closed = true;
  }

  /** Resolves when so few outcomes wait to be written that more deliveries may be claimed: usually at once. */
  async room(): Promise<void> {
    while (this.open > backlogLimit) await new Promise<void>((resolve) => this.waitingForRoom.push(resolve));
  }

  /** @param onSettled called once, when it is written, lost or given up */
  settle(outcome: OutcomeToWrite, onSettled: (settled: Settled) => void): void {
    this.open += 1;
    const entry: Entry = { outcome, onSettled, uncertain: false };
    if (outcome.withHook) void this.writeAlone(entry, 0);
    else {
      this.queue.push(entry);
      if (!this.writing) void this.writeQueue();
    }
  }

  private done({ onSettled }: Entry, result: SettleResult, next?: Claim): void {
    this.open -= 1;
    onSettled({ result, next });
    if (this.waitingForRoom.length > 0 && this.open <= backlogLimit)
      for (const go of this.waitingForRoom.splice(0)) go();
  }

  private async writeQueue(): Promise<void> {
    this.writing = true;
    // What is reported in this turn of the event loop belongs to the first batch.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.queue.length > 0) await this.writeBatch(this.queue.splice(0, batchSize));
    this.writing = false;
  }

  private async writeBatch(batch: Entry[]): Promise<void> {
    try {
      if (batch.every(isPlainSuccess)) batch = await this.writeSuccesses(batch);
      if (batch.length === 0) return;
      const answers = await this.ask(batch.map(({ outcome }) => outcome));
      this.pause = 0;
      batch.forEach((entry, index) => this.take(entry, answers[index]!, 0));
    } catch (error) {
      if (isOutage(error)) await this.waitForDatabase(batch);
      // One outcome that the tables refuse must not take the others with it.
      else for (const entry of batch) void this.writeAlone(entry, 0);
    }
  }

  /** @returns those that it did not settle */
  private async writeSuccesses(batch: Entry[]): Promise<Entry[]> {
    const open = new Map(batch.map((entry) => [entry.outcome.id, entry]));
    // A delivery that was claimed again while its first outcome waited.
    if (open.size < batch.length) return batch;
    const values = [[...open.keys()], batch.map(({ outcome }) => outcome.token)];
    const rows = await this.database.query<{ id: string }>('deliveries_settle_successes', this.successesText, values);
    this.pause = 0;
    for (const { id } of rows) {
      this.done(open.get(id)!, 'settled');
      open.delete(id);
    }
    return [...open.values()];
  }

  private async ask(batch: readonly OutcomeToWrite[]): Promise<SettleAnswer[]> {
    const askedAt = performance.now();
    const chainToken = randomUUID();
    const values = settleParameters(batch, chainToken);
    const rows = await this.database.query<SettleRow>('deliveries_settle', this.text, values);
    const answers: SettleAnswer[] = [];
    for (const row of rows) answers[row.after - 1] = answerOf(row, chainToken, askedAt);
    return answers;
  }

  private take(entry: Entry, { answer, next }: SettleAnswer, lockedFor: number): void {
    if (answer === 'settled') this.done(entry, 'settled', next);
    else if (answer === 'locked') void this.writeAlone(entry, Math.min(500, 20 + lockedFor * 2));
    else if (entry.uncertain) void this.lookUp(entry);
    else this.done(entry, 'lost');
  }

  /** Tries one outcome by itself, without holding a connection while it waits. */
  private async writeAlone(entry: Entry, delay: number): Promise<void> {
    if (delay > 0) {
      if (this.isTooLate(entry, delay)) return this.giveUp(entry, 'its row stayed locked');
      await sleep(delay, undefined, { ref: false });
    }
    try {
      const { outcome } = entry;
      const answer = outcome.withHook
        ? await outcome.withHook.write(this.text, outcome)
        : (await this.ask([outcome]))[0]!;
      this.take(entry, answer, delay);
    } catch (error) {
      if (isOutage(error)) entry.uncertain = true;
      const next = Math.min(longestPause, Math.max(100, delay * 2));
      if (isRefusal(error) || this.isTooLate(entry, next)) this.giveUp(entry, codeOf(error));
      else await this.writeAlone(entry, next * (0.5 + Math.random() / 2));
    }
  }

  private async waitForDatabase(batch: Entry[]): Promise<void> {
    this.pause = Math.min(longestPause, Math.max(100, this.pause * 2));
    const again: Entry[] = [];
    for (const entry of batch) {
      entry.uncertain = true;
      if (this.isTooLate(entry, this.pause)) this.giveUp(entry, 'PostgreSQL does not answer');
      else again.push(entry);
    }
    if (again.length === 0) return;
    this.queue.unshift(...again);
    await sleep(this.pause * (0.5 + Math.random() / 2), undefined, { ref: false });
  }

  private isTooLate(entry: Entry, wait: number): boolean {
    return this.closed || performance.now() + wait > entry.outcome.giveUpAt;
  }

  private giveUp(entry: Entry, reason: string): void {
    this.logger.error(
      `The outcome of delivery ${entry.outcome.id}, attempt ${entry.outcome.attempt}, could not be recorded (${reason}); its lease ends and it is sent again.`,
    );
    this.done(entry, 'unrecorded');
  }

  /** The token is gone after a write whose reply never came: it may be gone because that write was committed. */
  private async lookUp(entry: Entry): Promise<void> {
    const { id, attempt: number, settlement } = entry.outcome;
    try {
      const values = [id, number, settlement.attempt?.outcome ?? null, settlement.attempt?.error ?? null];
      const [row] = await this.database.query<{ wrote: boolean }>('deliveries_wrote_before', this.wroteBefore, values);
      this.done(entry, row?.wrote ? 'settled' : 'lost');
    } catch {
      // The write, which asks about the token again, is tried in the place of the question.
      await this.writeAlone(entry, 100);
    }
  }
}

const isPlainSuccess = ({ outcome: { settlement, chainLease, stillSending } }: Entry): boolean =>
  settlement.status === 'succeeded' && !settlement.attempt && chainLease === undefined && !stillSending;

// SQLSTATE classes: 22 data exception, 23 constraint violation. Only then is something wrong with the outcome; a lock, a
// standby that does not write yet, a changed password or a table that is being altered passes.
const isRefusal = (error: unknown): boolean => /^(22|23)[0-9A-Z]{3}$/.test(codeOf(error));
