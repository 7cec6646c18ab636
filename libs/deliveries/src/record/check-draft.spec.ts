import type { DeliveryEvent } from '../delivery/delivery';
import type { DeliveryDraft } from '../delivery/draft';
import { InvalidDraftError } from '../errors';
import { checkDraft, checkDraftList, checkEvent } from './check-draft';

const known = 'id, destination, payload, recipient, orderingKey, lane, notBefore, deadline, dedupeKey, dedupeDigest';
const draft = { destination: 'a desk', payload: { a: 1 } };

function messageOf(check: () => unknown): string {
  try {
    return `accepted: ${JSON.stringify(check())}`;
  } catch (error) {
    if (!(error instanceof InvalidDraftError)) throw error;
    return error.message;
  }
}
const refusedDraft = (given: unknown): string => messageOf(() => checkDraft('email', given as DeliveryDraft));
const refusedEvent = (given: unknown): string => messageOf(() => checkEvent(given as DeliveryEvent));
const tail = 'Nothing was recorded; correct the value and record again.';
const dates = 'must be a valid Date between the years 1970 and 9999';

it.each<[unknown, string]>([
  [undefined, 'draft must be an object, and is undefined'],
  [null, 'draft must be an object, and is null'],
  [[draft], 'draft must be an object, and is a list'],
  ['text', 'draft must be an object, and is string'],
  [{ ...draft, due: 1 }, `draft.due is not known; known are ${known}`],
  [{ payload: 1 }, 'destination must be text, and is undefined'],
  [{ ...draft, destination: null }, 'destination must be text, and is null'],
  [{ ...draft, destination: 5 }, 'destination must be text, and is number'],
  [{ ...draft, destination: '' }, 'destination must have 1 to 500 characters, and has 0'],
  [{ ...draft, destination: 'x'.repeat(501) }, 'destination must have 1 to 500 characters, and has 501'],
  [{ ...draft, destination: 'a\0' }, 'destination must not contain U+0000, which PostgreSQL cannot store'],
  [{ ...draft, destination: 'a\ud800' }, 'destination must not contain half of a surrogate pair'],
  [{ destination: 'a' }, 'payload must be JSON, and is undefined (leave it out)'],
  [{ ...draft, payload: 'x'.repeat(262_143) }, 'payload must be at most 262144 bytes of JSON, and is 262145'],
  [{ ...draft, recipient: 'x'.repeat(2_047) }, 'recipient must be at most 2048 bytes of JSON, and is 2049'],
  [{ ...draft, recipient: { id: NaN } }, 'recipient.id must be a finite number, and is NaN'],
  [{ ...draft, notBefore: new Date(NaN) }, `notBefore ${dates}`],
  [{ ...draft, notBefore: '2030-01-01' }, `notBefore ${dates}`],
  [{ ...draft, notBefore: 5 }, `notBefore ${dates}`],
  [{ ...draft, deadline: new Date(-1) }, `deadline ${dates}`],
  [{ ...draft, deadline: new Date('+010000-01-01') }, `deadline ${dates}`],
  [{ ...draft, orderingKey: 'k'.repeat(256) }, 'orderingKey must have 1 to 255 characters, and has 256'],
  [
    { ...draft, orderingKey: 'k', notBefore: new Date() },
    'notBefore must not come with an orderingKey, whose order it would break',
  ],
  [{ ...draft, dedupeKey: '' }, 'dedupeKey must have 1 to 255 characters, and has 0'],
  [{ ...draft, dedupeKey: 'k'.repeat(256) }, 'dedupeKey must have 1 to 255 characters, and has 256'],
  [{ ...draft, dedupeKey: 'k\0' }, 'dedupeKey must not contain U+0000, which PostgreSQL cannot store'],
  [
    { ...draft, dedupeKey: 'k', dedupeDigest: 'd'.repeat(129) },
    'dedupeDigest must have 1 to 128 characters, and has 129',
  ],
  [{ ...draft, dedupeKey: 'k', dedupeDigest: '\udc00' }, 'dedupeDigest must not contain half of a surrogate pair'],
  [{ ...draft, dedupeDigest: 'd' }, 'dedupeDigest must come with a dedupeKey'],
])('refuses a draft: case %#', (given, message) => {
  expect(refusedDraft(given)).toBe(`Draft of channel "email": ${message}. ${tail}`);
});

it.each<[unknown, string]>([
  [null, 'event must be an object, and is null'],
  ['account_created', 'event must be an object, and is string'],
  [{}, 'event.type must be text, and is undefined'],
  [{ type: '' }, 'event.type must have 1 to 200 characters, and has 0'],
  [{ type: 'x'.repeat(201) }, 'event.type must have 1 to 200 characters, and has 201'],
  [{ type: 'a\0' }, 'event.type must not contain U+0000, which PostgreSQL cannot store'],
  [{ type: 'a', payload: { at: new Date(NaN) } }, 'event.payload.at must be a valid date'],
  [{ type: 'a', actor: 'x'.repeat(201) }, 'event.actor must have 1 to 200 characters, and has 201'],
  [{ type: 'a', actor: '\ud800' }, 'event.actor must not contain half of a surrogate pair'],
  [{ type: 'a', name: 'b' }, 'event.name is not known; known are type, payload, actor'],
])('refuses an event: case %#', (given, message) => {
  expect(refusedEvent(given)).toBe(`Event: ${message}. ${tail}`);
});

it.each([
  [undefined, 'undefined'],
  [null, 'null'],
  [draft, 'object'],
])('refuses what is no list of drafts: %j', (given, found) => {
  expect(messageOf(() => checkDraftList('email', given))).toBe(
    `Channel "email": deliveries() must return a list of drafts, and returned ${found}. ${tail}`,
  );
});

it('takes the longest and the latest', () => {
  const longest = {
    id: '019ad4a2-0000-7000-8000-ffffffffffff',
    destination: 'x'.repeat(500),
    payload: 'x'.repeat(262_142),
    recipient: 'x'.repeat(2_046),
    notBefore: new Date(0),
    deadline: new Date('9999-12-31T23:59:59.999Z'),
    orderingKey: null,
    lane: 'l'.repeat(255),
    dedupeKey: 'k'.repeat(255),
    dedupeDigest: 'd'.repeat(128),
  };
  expect(checkDraft('email', longest as unknown as DeliveryDraft)).toEqual({
    ...longest,
    channel: 'email',
    payload: JSON.stringify(longest.payload),
    recipient: JSON.stringify(longest.recipient),
  });
  expect(checkEvent({ type: 't'.repeat(200), actor: 'a'.repeat(200) })).toMatchObject({ payload: '{}' });
});

it('takes null and undefined for what was left out', () => {
  const nothing = {
    id: null,
    recipient: undefined,
    notBefore: null,
    deadline: undefined,
    dedupeKey: null,
    dedupeDigest: undefined,
  };
  const without = {
    id: null,
    channel: 'email',
    destination: 'a desk',
    recipient: null,
    payload: '{"a":1}',
    notBefore: null,
    deadline: null,
    orderingKey: null,
    lane: '',
    dedupeKey: null,
    dedupeDigest: null,
  };
  expect(checkDraft('email', draft)).toEqual(without);
  expect(checkDraft('email', { ...draft, ...nothing } as unknown as DeliveryDraft)).toEqual(without);
});

it('copies dates and JSON', () => {
  const given = { ...draft, payload: { a: 1 }, deadline: new Date(5) };
  const checked = checkDraft('email', given);
  given.payload.a = 2;
  given.deadline.setTime(6);
  expect(checked).toMatchObject({ payload: '{"a":1}', deadline: new Date(5) });
});
