import { Cached } from './cached';

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A database that answers 1, 2, 3 … as soon as it is let. */
function counter() {
  const waiting: ((failure?: Error) => void)[] = [];
  let asked = 0;
  const ask = (): Promise<number> => {
    const answer = (asked += 1);
    return new Promise((resolve, reject) => waiting.push((failure) => (failure ? reject(failure) : resolve(answer))));
  };
  const answer = async (failure?: Error): Promise<void> => {
    waiting.shift()!(failure);
    await jest.advanceTimersByTimeAsync(0);
  };
  return { ask, answer, asked: () => asked };
}

const cached = (): Cached<number> => new Cached<number>(2_000, 10_000);

it('asks once for all who look, and not again while the answer is fresh', async () => {
  const cache = cached();
  const { ask, answer, asked } = counter();
  const both = Promise.all([cache.get('', ask), cache.get('', ask)]);
  await answer();
  expect(await both).toEqual([1, 1]);
  await jest.advanceTimersByTimeAsync(1_999);
  expect([await cache.get('', ask), asked()]).toEqual([1, 1]);
});

it('gives what it has while it asks again, once, and the new answer to whoever asks next', async () => {
  const cache = cached();
  const { ask, answer, asked } = counter();
  void cache.get('', ask);
  await answer();
  await jest.advanceTimersByTimeAsync(5_000);
  expect([await cache.get('', ask), await cache.get('', ask), asked()]).toEqual([1, 1, 2]);
  await answer();
  expect([await cache.get('', ask), asked()]).toEqual([2, 2]);
});

it('waits for an answer when the last one is too old', async () => {
  const cache = cached();
  const { ask, answer } = counter();
  void cache.get('', ask);
  await answer();
  await jest.advanceTimersByTimeAsync(10_000);
  const late = cache.get('', ask);
  await answer();
  expect(await late).toBe(2);
});

it('gives a failure only to those that waited for it, and none to those that did not', async () => {
  const cache = cached();
  const { ask, answer, asked } = counter();
  const first = cache.get('', ask);
  await Promise.all([expect(first).rejects.toThrow('down'), answer(new Error('down'))]);
  void cache.get('', ask);
  await answer();
  await jest.advanceTimersByTimeAsync(5_000);
  expect(await cache.get('', ask)).toBe(2);
  await answer(new Error('down'));
  expect([await cache.get('', ask), asked()]).toEqual([2, 4]);
});

it('gives nothing that was asked for before it had to forget', async () => {
  const cache = cached();
  const { ask, answer } = counter();
  void cache.get('', ask);
  await answer();
  await jest.advanceTimersByTimeAsync(5_000);
  void cache.get('', ask);
  cache.forget();
  await answer();
  const next = cache.get('', ask);
  await answer();
  expect(await next).toBe(3);
});
