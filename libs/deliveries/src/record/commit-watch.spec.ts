import type { DataSource, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import { CommitWatch } from './commit-watch';

const other: EntitySubscriberInterface = {};
const start = (onCommit: ConstructorParameters<typeof CommitWatch>[1] = () => {}) => {
  const subscribers = [other];
  const watch = new CommitWatch({ subscribers } as unknown as DataSource, onCommit);
  return { subscribers, watch };
};

it('leaves the subscribers of the host alone, also when it is stopped without a start, or twice', () => {
  const { subscribers, watch } = start();
  watch.stop();
  expect(subscribers).toEqual([other]);
  watch.start();
  expect(subscribers).toEqual([other, watch]);
  watch.stop();
  watch.stop();
  expect(subscribers).toEqual([other]);
});

it('adds up what a transaction recorded, and tells it once: at the commit, not when a savepoint ends', () => {
  const told = jest.fn();
  const { watch } = start(told);
  const queryRunner = { isTransactionActive: true } as { isTransactionActive: boolean } & QueryRunner;
  watch.note(queryRunner, [{ channel: 'a', path: 'plain', count: 2 }]);
  watch.afterTransactionRollback({ queryRunner });
  watch.note(queryRunner, [
    { channel: 'a', path: 'plain', count: 1 },
    { channel: 'a', path: 'lane', count: 1 },
  ]);
  watch.afterTransactionCommit({ queryRunner });
  expect(told).not.toHaveBeenCalled();
  queryRunner.isTransactionActive = false;
  watch.afterTransactionCommit({ queryRunner });
  watch.afterTransactionCommit({ queryRunner });
  expect(told.mock.calls).toEqual([
    [
      [
        { channel: 'a', path: 'plain', count: 3 },
        { channel: 'a', path: 'lane', count: 1 },
      ],
    ],
  ]);
});

it('forgets what a transaction recorded that was rolled back', () => {
  const told = jest.fn();
  const { watch } = start(told);
  const queryRunner = { isTransactionActive: false } as QueryRunner;
  watch.note(queryRunner, [{ channel: 'a', path: 'plain', count: 1 }]);
  watch.afterTransactionRollback({ queryRunner });
  watch.note(queryRunner, []);
  watch.afterTransactionCommit({ queryRunner });
  expect(told).not.toHaveBeenCalled();
});
