import fc from 'fast-check';
import { retryAfterMs } from './retry-after';

/** Sunday 29 November 2026, 12:00:00 UTC. */
const now = Date.UTC(2026, 10, 29, 12);
const at = (iso: string): number => Date.parse(iso) - now;

test.each([
  ['120', 120_000],
  ['0', 0],
  [' 7\t', 7_000],
  [['30'], 30_000],
  [1_500, 1_500],
  ['Sun, 29 Nov 2026 12:00:06 GMT', 6_000],
  ['Sunday, 29-Nov-26 12:00:06 GMT', 6_000],
  ['Sun Nov 29 12:00:06 2026', 6_000],
  ['Tue Dec  1 00:00:00 2026', at('2026-12-01T00:00:00Z')],
  ['Thu, 31 Dec 2026 23:59:60 GMT', at('2027-01-01T00:00:00Z')],
  ['Tue, 29 Feb 2028 00:00:00 GMT', at('2028-02-29T00:00:00Z')],
  ['99999999999999999999999', Number.MAX_SAFE_INTEGER],
])('%j asks for %d ms', (value, expected) => {
  expect(retryAfterMs(value, now)).toBe(expected);
});

test.each([
  [undefined],
  [''],
  ['soon'],
  ['-5'],
  ['+5'],
  ['1.5'],
  ['0x10'],
  ['5 seconds'],
  ['1e3'],
  [-1],
  [Number.NaN],
  [Number.POSITIVE_INFINITY],
  [['5', '5']],
  [[]],
  ['Sun, 29 Nov 2026 12:00:00 GMT'],
  ['Sun, 29 Nov 2020 12:00:06 GMT'],
  ['Wed, 99 Foo 2026'],
  ['Thu, 31 Apr 2027 00:00:00 GMT'],
  ['Thu, 00 Apr 2027 00:00:00 GMT'],
  ['Tue, 29 Feb 2027 00:00:00 GMT'],
  ['Sun, 29 Nov 2026 24:00:06 GMT'],
  ['Sun, 29 Nov 2026 12:60:06 GMT'],
  ['Sun, 29 Nov 2026 12:00:06 CET'],
  ['Sun, 29 Nov 2026 12:00:06 +0000'],
  ['2026-11-29T12:00:06Z'],
  ['sun, 29 nov 2026 12:00:06 gmt'],
])('%j asks for nothing', (value) => {
  expect(retryAfterMs(value, now)).toBeUndefined();
});

test('reads a two-digit year as at most 50 years ahead', () => {
  expect(retryAfterMs('Saturday, 29-Nov-76 12:00:00 GMT', now)).toBe(at('2076-11-29T12:00:00Z'));
  expect(retryAfterMs('Tuesday, 29-Nov-77 12:00:00 GMT', now)).toBeUndefined();
});

test('reads back every date in each of the three forms', () => {
  const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  const longDays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
  const seconds = fc.integer({ min: 1, max: 49 * 365 * 86_400 });
  fc.assert(
    fc.property(seconds, (ahead) => {
      const date = new Date(now + ahead * 1_000);
      const imf = date.toUTCString();
      const [, day, month, year, time] = imf.split(' ');
      const weekday = date.getUTCDay();
      const asctime = `${days[weekday]} ${month} ${String(date.getUTCDate()).padStart(2)} ${time} ${year}`;
      for (const form of [imf, `${longDays[weekday]}, ${day}-${month}-${year!.slice(2)} ${time} GMT`, asctime]) {
        expect(retryAfterMs(form, now)).toBe(ahead * 1_000);
      }
    }),
  );
});

test('never answers with something else than a time that is not negative', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.array(fc.string()), fc.double(), fc.stringMatching(/^[ -~]{0,40}$/)),
      (junk) => {
        const wait = retryAfterMs(junk, now);
        // NaN is not at least 0 either.
        expect(wait ?? 0).toBeGreaterThanOrEqual(0);
      },
    ),
  );
});
