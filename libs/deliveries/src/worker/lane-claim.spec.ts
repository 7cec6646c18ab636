import type { Channel } from '../channel/channel-registry';
import type { ClaimedLanes, Claimer } from '../claim/claimer';
import type { Claim } from '../delivery/claim';
import type { LaneHolds } from '../pause/lane-holds';
import { LaneClaim } from './lane-claim';

const of = (...lanes: string[]): Claim[] => lanes.map((lane) => ({ delivery: { lane } }) as Claim);

afterEach(() => jest.restoreAllMocks());

test('a lane takes every slot only two seconds after others were claimed, also when they took the last slots', async () => {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const looks: ClaimedLanes[] = [];
  const claimLanes = jest.fn(() => Promise.resolve(looks.shift()!));
  const channel = { name: 'hooks', workers: 1, concurrency: 4, lease: 60_000, lane: { share: 0.5 } } as Channel;
  const lanes = new LaneClaim(
    channel,
    { claimLanes } as unknown as Claimer,
    { heldOf: () => [] } as unknown as LaneHolds,
  );

  // Nobody has waited for a long time. Then many wait in lane a, and two in lane b: each has two of the four slots.
  now = 10_000;
  looks.push({ claims: of('a', 'a', 'b', 'b'), reached: 'b', ended: false });
  expect(await lanes.claim(() => 4)).toMatchObject({ more: true });
  lanes.ended('b');
  lanes.ended('b');

  const nothing: ClaimedLanes = { claims: [], reached: 'a', ended: true };
  now = 11_999;
  looks.push(nothing);
  expect(await lanes.claim(() => 2)).toEqual({ claims: [], more: false });
  expect(claimLanes).toHaveBeenCalledTimes(2);

  now = 12_000;
  looks.push(nothing, { claims: of('a', 'a'), reached: 'a', ended: true });
  expect((await lanes.claim(() => 2)).claims).toHaveLength(2);
  expect(claimLanes).toHaveBeenCalledTimes(4);
});
