import type { DeliveryEvent, DeliveryRecorder } from 'nest-deliveries';
import type { Client } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { gate } from '../faults/support/facts';

class RolledBackOnPurpose extends Error {}

/** One transaction of a recorder on a real connection, one step at a time. */
export interface Session {
  readonly pid: number;
  record(event: DeliveryEvent): Promise<unknown>;
  savepoint(how: 'raw' | 'nested'): Promise<void>;
  release(how: 'raw' | 'nested'): Promise<void>;
  rollBackToSavepoint(how: 'raw' | 'nested'): Promise<void>;
  readonly commit: () => Promise<void>;
  readonly rollBack: () => Promise<void>;
  /** Resolves when this side, too, has noticed that the connection was ended: before that the pool would give it to others. */
  readonly lost: () => Promise<unknown>;
  /** After that: lets go of what is left here. */
  readonly abandon: () => Promise<void>;
}

/** A transaction that the host opens and ends by itself. */
export async function plainSession(dataSource: DataSource, recorder: DeliveryRecorder): Promise<Session> {
  const runner = dataSource.createQueryRunner();
  const client = await clientOf(runner);
  await runner.startTransaction('READ COMMITTED');
  return {
    pid: client.processID,
    lost: () => new Promise((resolve) => client.once('end', resolve)),
    ...stepsOn(runner, recorder),
    commit: async () => {
      await runner.commitTransaction();
      await runner.release();
    },
    rollBack: async () => {
      await runner.rollbackTransaction();
      await runner.release();
    },
    abandon: () => runner.release().catch(() => undefined),
  };
}

/** `recorder.transaction`, whose work ends when the history says so. */
export async function recorderSession(recorder: DeliveryRecorder): Promise<Session> {
  const end = gate();
  let rollBack = false;
  let ended!: Promise<void>;
  const tx = await new Promise<EntityManager>((begun, refused) => {
    ended = recorder.transaction(async (manager) => {
      begun(manager);
      await end.passed;
      if (rollBack) throw new RolledBackOnPurpose();
    });
    ended.catch(refused);
  });
  const runner = tx.queryRunner!;
  const client = await clientOf(runner);
  return {
    pid: client.processID,
    lost: () => new Promise((resolve) => client.once('end', resolve)),
    ...stepsOn(runner, recorder),
    commit: () => {
      end.open();
      return ended;
    },
    rollBack: async () => {
      rollBack = true;
      end.open();
      await ended.catch((error: unknown) => {
        if (!(error instanceof RolledBackOnPurpose)) throw error;
      });
    },
    abandon: async () => {
      rollBack = true;
      end.open();
      await ended.catch(() => undefined);
    },
  };
}

function stepsOn(
  runner: QueryRunner,
  recorder: DeliveryRecorder,
): Pick<Session, 'record' | 'savepoint' | 'release' | 'rollBackToSavepoint'> {
  let depth = 0;
  return {
    record: (event) => recorder.record(runner, event),
    savepoint: async (how) => {
      depth += 1;
      if (how === 'nested') await runner.startTransaction();
      else await runner.query(`SAVEPOINT raw_${depth}`);
    },
    release: async (how) => {
      if (how === 'nested') await runner.commitTransaction();
      else await runner.query(`RELEASE SAVEPOINT raw_${depth}`);
      depth -= 1;
    },
    rollBackToSavepoint: async (how) => {
      if (how === 'nested') await runner.rollbackTransaction();
      else {
        await runner.query(`ROLLBACK TO SAVEPOINT raw_${depth}`);
        await runner.query(`RELEASE SAVEPOINT raw_${depth}`);
      }
      depth -= 1;
    },
  };
}

const clientOf = (runner: QueryRunner): Promise<Client & { processID: number }> =>
  runner.connect() as Promise<Client & { processID: number }>;
