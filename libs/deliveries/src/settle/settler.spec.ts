import { Logger } from '@nestjs/common';
import type { WorkerDatabase } from '../database/worker-database';
import type { Settlement } from './decide-settlement';
import type { OutcomeToWrite, SettleRow } from './settle-statement';
import { Settler, type Settled } from './settler';
import type { HookedWrite } from './write-with-hook';

// What PostgreSQL answers here is told by the test: the moments that matter last for microseconds on a real one. What becomes of the
// rows is tested on a real one, in test/races/settle.spec.ts and test/faults.

type Rows = readonly object[];
type Answer = (values: unknown[][], name: string) => Rows | Promise<Rows>;

/** Answers the statements in turn; the last answer serves for all that follow. */
function settlerOn(...answers: Answer[]): { settler: Settler; asked: string[] } {
  const asked: string[] = [];
  const query = async (name: string, _text: string, values: unknown[][]): Promise<Rows> => {
    asked.push(name);
    return (answers.length > 1 ? answers.shift()! : answers[0]!)(values, name);
  };
  return { settler: new Settler({ query } as unknown as WorkerDatabase, 'deliveries'), asked };
}

const successes: Answer = ([ids]) => ids!.map((id) => ({ id }));
/** The same answer for each outcome of a batch. */
const all =
  (answer: SettleRow['answer']): Answer =>
  ([ids]) =>
    ids!.map((_, index) => ({ after: index + 1, answer, id: null }));
const failing =
  (code: string): Answer =>
  () =>
    Promise.reject(Object.assign(new Error(code), { code }));

let count = 0;
const outcome = (more: Partial<OutcomeToWrite> = {}): OutcomeToWrite => ({
  id: `delivery ${(count += 1)}`,
  token: 'token',
  attempt: 1,
  settlement: { status: 'succeeded' },
  startedAt: 0,
  giveUpAt: Number.MAX_VALUE,
  ...more,
});
const failure: Settlement = { status: 'failed', attempt: { outcome: 'failed', error: '410' } };
const settled = (settler: Settler, ...outcomes: OutcomeToWrite[]): Promise<Settled['result'][]> =>
  Promise.all(
    outcomes.map(
      (each) => new Promise<Settled['result']>((resolve) => settler.settle(each, ({ result }) => resolve(result))),
    ),
  );

let errors: jest.SpyInstance;
beforeEach(() => (errors = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined)));
afterEach(() => errors.mockRestore());

it('lets workers claim while few outcomes wait, and not while more than 2,000 do', async () => {
  let answer!: () => void;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const { settler } = settlerOn((values, name) => answered.then(() => successes(values, name)));
  const written = [settled(settler, ...Array.from({ length: 2_000 }, () => outcome()))];
  await settler.room();
  written.push(settled(settler, outcome()));
  let hasRoom = false;
  const room = settler.room().then(() => (hasRoom = true));
  // Whatever could give room without an answer has run by then.
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasRoom).toBe(false);
  answer();
  await Promise.all([room, ...written]);
});

it('asks of plain successes in the short way, and once more of those that it did not settle', async () => {
  const { settler, asked } = settlerOn(([ids]) => [{ id: ids![1] }], all('gone'));
  expect(await settled(settler, outcome(), outcome(), outcome())).toEqual(['lost', 'settled', 'lost']);
  expect(asked).toEqual(['deliveries_settle_successes', 'deliveries_settle']);
});

it('asks in the long way when a delivery that was claimed again is in a batch twice', async () => {
  const { settler, asked } = settlerOn(all('settled'));
  const first = outcome();
  expect(await settled(settler, first, { ...first, token: 'another' })).toEqual(['settled', 'settled']);
  expect(asked).toEqual(['deliveries_settle']);
});

it.each<[string, Partial<OutcomeToWrite>]>([
  ['has an attempt to write', { settlement: failure }],
  ['goes on with its key', { chainLease: 60_000 }],
  ['is still being sent', { stillSending: true }],
])('asks of a batch in the long way when one of it %s', async (_, more) => {
  const { settler, asked } = settlerOn(all('settled'));
  expect(await settled(settler, outcome(), outcome(more))).toEqual(['settled', 'settled']);
  expect(asked).toEqual(['deliveries_settle']);
});

it('writes each of a batch alone when the tables refuse it, so that one takes no other with it', async () => {
  const good = outcome({ settlement: failure });
  const bad = outcome({ settlement: failure });
  const refusing: Answer = (values, name) =>
    (values[0]!.includes(bad.id) ? failing('22P05') : all('settled'))(values, name);
  const { settler } = settlerOn(refusing);
  expect(await settled(settler, good, bad)).toEqual(['settled', 'unrecorded']);
  expect(errors).toHaveBeenCalledTimes(1);
  expect(errors).toHaveBeenCalledWith(expect.stringMatching(`delivery ${bad.id.split(' ')[1]}, attempt 1, .*22P05`));
});

it('tries one alone again after an error that passes, such as a lock', async () => {
  const { settler, asked } = settlerOn(failing('55P03'), failing('40001'), all('settled'));
  expect(await settled(settler, outcome({ settlement: failure }))).toEqual(['settled']);
  expect(asked).toHaveLength(3);
});

it('tries a row that was locked alone again, until its lease is nearly over', async () => {
  const { settler } = settlerOn(all('locked'), all('locked'), all('settled'));
  expect(await settled(settler, outcome({ settlement: failure }))).toEqual(['settled']);
  const { settler: late, asked } = settlerOn(all('locked'));
  expect(await settled(late, outcome({ settlement: failure, giveUpAt: performance.now() }))).toEqual(['unrecorded']);
  expect(asked).toHaveLength(1);
  expect(errors).toHaveBeenCalledWith(expect.stringContaining('its row stayed locked'));
});

it('tries a batch again when PostgreSQL does not answer; what the lease does not wait for is given up', async () => {
  const { settler, asked } = settlerOn(failing('ECONNRESET'), all('settled'));
  const [patient, late] = [
    outcome({ settlement: failure }),
    outcome({ settlement: failure, giveUpAt: performance.now() }),
  ];
  expect(await settled(settler, patient, late)).toEqual(['settled', 'unrecorded']);
  expect(asked).toHaveLength(2);
  expect(errors).toHaveBeenCalledWith(expect.stringContaining('PostgreSQL does not answer'));
});

describe('a token that is gone after a write whose reply never came', () => {
  const wrote =
    (answer: boolean): Answer =>
    () => [{ wrote: answer }];

  it.each([
    ['settled', true, failure],
    ['lost', false, failure],
    ['settled', true, { status: 'succeeded' } as const],
  ])('is %s when the tables say %s', async (result, answer, settlement) => {
    const { settler, asked } = settlerOn(
      failing('ECONNRESET'),
      ...(settlement.status === 'succeeded' ? [() => []] : []),
      all('gone'),
      wrote(answer),
    );
    expect(await settled(settler, outcome({ settlement }))).toEqual([result]);
    expect(asked.at(-1)).toBe('deliveries_wrote_before');
  });

  it('is asked about again when that question is not answered either', async () => {
    const { settler, asked } = settlerOn(failing('57P01'), all('gone'), failing('57P01'), all('gone'), wrote(true));
    expect(await settled(settler, outcome({ settlement: failure }))).toEqual(['settled']);
    expect(asked.filter((name) => name === 'deliveries_wrote_before')).toHaveLength(2);
  });

  it('is lost when nothing is known of the delivery', async () => {
    const { settler } = settlerOn(failing('ECONNRESET'), all('gone'), () => []);
    expect(await settled(settler, outcome({ settlement: failure }))).toEqual(['lost']);
  });
});

it('gives up what is not written when its connections are closed', async () => {
  const { settler } = settlerOn(failing('ECONNREFUSED'));
  settler.close();
  const write = jest.fn(() => Promise.reject(Object.assign(new Error('ended'), { code: 'ECONNREFUSED' })));
  const withHook = { write } as unknown as HookedWrite;
  const outcomes = [outcome({ settlement: failure }), outcome({ settlement: failure, withHook })];
  expect(await settled(settler, ...outcomes)).toEqual(['unrecorded', 'unrecorded']);
  expect(write).toHaveBeenCalledTimes(1);
});
