import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { failed, retry, skipped } from './outcome';
import { kindOfThrown, writableKind } from './kind';

test.each(['503', 'ECONNRESET', 'timeout', 'TypeError', 'a'.repeat(64), 'smtp.550', 'UND_ERR_CONNECT_TIMEOUT'])(
  '%s is written as it is',
  (kind) => expect(writableKind(kind)).toBe(kind),
);

test.each(['', 'a b', 'a@b.example', 'x'.repeat(65), '-x', 'a\0b', 'naïve', '550 no such user', 503, null, undefined])(
  '%j is written without its text',
  (kind) => expect(writableKind(kind)).toBe('unnamed_error'),
);

test('a thrown value gives its class’s name and nothing that it says', () => {
  class ReceiverError extends Error {}
  expect(kindOfThrown(new ReceiverError('secret'))).toBe('ReceiverError');
  expect(kindOfThrown('secret')).toBe('string');
  expect(kindOfThrown(undefined)).toBe('undefined');
  expect(kindOfThrown(new (class extends Error {})('secret'))).toBe('unnamed_error');
  expect(kindOfThrown(Object.assign(new Error('secret'), { constructor: undefined }))).toBe('unnamed_error');
});

test('a fetch that fails gives the platform’s code, and nothing else that is thrown gives one', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await once(closed, 'close');
  const refused: unknown = await fetch(`http://127.0.0.1:${port}/`).catch((error: unknown) => error);
  expect(kindOfThrown(refused)).toBe('ECONNREFUSED');
  const answer = Object.assign(new Error('no'), { code: 'SECRET' });
  expect(kindOfThrown(new TypeError('no', { cause: answer }))).toBe('TypeError');
  expect(kindOfThrown(new TypeError('fetch failed', { cause: { code: 'SECRET' } }))).toBe('TypeError');
  expect(kindOfThrown(new TypeError('fetch failed', { cause: new Error('no') }))).toBe('TypeError');
});

test('outcomes take status codes as numbers, and no text', () => {
  expect(retry(503)).toEqual({ type: 'retry', kind: '503' });
  expect(retry(503, { retryAfter: '5' })).toEqual({ type: 'retry', kind: '503', retryAfter: '5' });
  expect(failed('<b>no</b>')).toEqual({ type: 'failed', kind: 'unnamed_error' });
  expect(skipped('address removed')).toEqual({ type: 'skipped', reason: 'unnamed_error' });
});
