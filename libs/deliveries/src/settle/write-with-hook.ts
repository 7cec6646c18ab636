import { Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { DataSource, EntityManager } from 'typeorm';
import { codeOf } from '../database/worker-database';
import { answerOf, settleParameters, type OutcomeToWrite, type SettleAnswer, type SettleRow } from './settle-statement';

const hookTries = 3;

/**
 * Writes a failure together with what the channel's `onFailed` writes, in one transaction on the host's `DataSource`, so
 * that the hook has the host's entities.
 *
 * A hook that throws takes the failure back with it and is tried three times. Then the failure is written without it:
 * a broken hook must not keep a delivery from ending.
 */
export class HookedWrite {
  private readonly logger = new Logger('Deliveries');
  private tries = 0;

  constructor(
    private readonly dataSource: DataSource,
    private readonly hook: (tx: EntityManager) => Promise<void> | void,
  ) {}

  write(text: string, outcome: OutcomeToWrite): Promise<SettleAnswer> {
    return this.dataSource.transaction('READ COMMITTED', async (tx) => {
      const askedAt = performance.now();
      const token = randomUUID();
      const [row] = await tx.query<[SettleRow]>(text, settleParameters([outcome], token));
      if (row.answer === 'settled' && this.tries < hookTries) await this.callHook(tx, outcome);
      return answerOf(row, token, askedAt);
    });
  }

  private async callHook(tx: EntityManager, outcome: OutcomeToWrite): Promise<void> {
    this.tries += 1;
    try {
      await this.hook(tx);
      // Fails here, and not at the commit, for a constraint that is checked there, and for a hook that swallowed the error
      // of a statement: PostgreSQL would answer its COMMIT with a rollback that nobody hears of.
      await tx.query('SET CONSTRAINTS ALL IMMEDIATE');
    } catch (error) {
      this.logger.error(
        `onFailed of delivery ${outcome.id} threw ${codeOf(error)} (try ${this.tries} of ${hookTries}${
          this.tries === hookTries ? '; the failure is recorded without it' : ''
        }).`,
      );
      throw new HookFailedError();
    }
  }
}

/** Rolls the settling transaction back; looks like contention, so that the write is tried again. */
class HookFailedError extends Error {
  readonly code = '40001';
}
