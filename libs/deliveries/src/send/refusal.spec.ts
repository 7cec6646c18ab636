import { refusalToSend } from './refusal';

const created = new Date('2026-11-29T12:00:00Z');
const fresh = { createdAt: created, retriedAt: null, deadline: null };
const hour = 3_600_000;
const at = created.getTime();

test('a delivery is sent until it is older than maxAge', () => {
  expect(refusalToSend(fresh, 0, at + hour, hour)).toBeUndefined();
  expect(refusalToSend(fresh, 0, at + hour + 1, hour)).toEqual({ type: 'failed', kind: 'expired' });
});

test('maxAge counts from the last operator retry', () => {
  const retried = { ...fresh, retriedAt: new Date(at + 10 * hour) };
  expect(refusalToSend(retried, 0, at + 11 * hour, hour)).toBeUndefined();
  expect(refusalToSend(retried, 0, at + 11 * hour + 1, hour)).toEqual({ type: 'failed', kind: 'expired' });
});

test('a deadline holds whatever an operator retried', () => {
  const late = { createdAt: created, retriedAt: new Date(at + hour), deadline: new Date(at + hour) };
  expect(refusalToSend(late, 0, at + hour, 9 * hour)).toBeUndefined();
  expect(refusalToSend(late, 0, at + hour + 1, 9 * hour)).toEqual({ type: 'failed', kind: 'expired' });
});

test('the sixth crash ends it', () => {
  expect(refusalToSend(fresh, 5, at, hour)).toBeUndefined();
  expect(refusalToSend(fresh, 6, at, hour)).toEqual({ type: 'failed', kind: 'crashed' });
});
