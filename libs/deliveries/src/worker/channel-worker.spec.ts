import type { Channel } from '../channel/channel-registry';
import type { Claimer } from '../claim/claimer';
import type { LaneHolds } from '../pause/lane-holds';
import { ChannelWorker } from './channel-worker';
import type { DeliverClaim } from './deliver-claim';
import { LaneClaim } from './lane-claim';
import { SoloGate } from './solo-gate';

afterEach(() => jest.useRealTimers());

/** A worker whose looks at the keys find nothing, and take as long as they are told to. */
function workerOf(takes: () => number): { worker: ChannelWorker; looks: () => number } {
  let looks = 0;
  const claimer: Pick<Claimer, 'claim' | 'claimLanes' | 'claimHeads'> = {
    claim: () => Promise.resolve([]),
    claimLanes: () => Promise.resolve({ claims: [], reached: undefined, ended: true }),
    claimHeads: async () => {
      looks += 1;
      await new Promise((resolve) => setTimeout(resolve, takes()));
      return { claims: [], more: false };
    },
  };
  const channel = {
    name: 'mail',
    lease: 60_000,
    sendTimeout: 10_000,
    concurrency: 10,
    workers: 1,
    lane: { share: 0.5 },
  } as Channel;
  const nothing = (): void => undefined;
  const worker = new ChannelWorker(
    channel,
    claimer as Claimer,
    {} as DeliverClaim,
    new LaneClaim(channel, claimer as Claimer, { heldOf: () => [] as string[] } as unknown as LaneHolds),
    new SoloGate(nothing),
    () => Promise.resolve(),
    nothing,
  );
  return { worker, looks: () => looks };
}

it('rests from looking at keys in vain for four times as long as it took', async () => {
  jest.useFakeTimers();
  const { worker, looks } = workerOf(() => 100);
  worker.wake();
  await jest.advanceTimersByTimeAsync(110);
  worker.wake();
  await jest.advanceTimersByTimeAsync(350);
  expect(looks()).toBe(1);
  await jest.advanceTimersByTimeAsync(100);
  expect(looks()).toBe(2);
});

it('looks again within three seconds after PostgreSQL stood still', async () => {
  jest.useFakeTimers();
  const { worker, looks } = workerOf(() => 9_000);
  worker.wake();
  await jest.advanceTimersByTimeAsync(9_010);
  worker.wake();
  await jest.advanceTimersByTimeAsync(3_100);
  expect(looks()).toBe(2);
});

it('leaves no timer behind when it stops while a look is on its way back', async () => {
  jest.useFakeTimers();
  const { worker } = workerOf(() => 100);
  worker.wake();
  await jest.advanceTimersByTimeAsync(50);
  const stopped = worker.stop();
  await jest.advanceTimersByTimeAsync(60);
  await stopped;
  expect(jest.getTimerCount()).toBe(0);
});

it('looks after its rest, as a wake-up during it asked, even if the timer of the rest fires early', async () => {
  jest.useFakeTimers();
  const { worker, looks } = workerOf(() => 100);
  // Timers go by the cached time of the event loop, which can be behind the clock: here, by half of all time.
  const real = performance.now.bind(performance);
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => real() / 2);
  try {
    worker.wake(['ordered']);
    await jest.advanceTimersByTimeAsync(110);
    worker.wake(['ordered']);
    await jest.advanceTimersByTimeAsync(50);
    expect(looks()).toBe(1);
    await jest.advanceTimersByTimeAsync(150);
    expect(looks()).toBe(2);
  } finally {
    clock.mockRestore();
  }
});
