import type { RetryAfter } from '../delivery/outcome';

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const month = `(${months.join('|')})`;
const time = String.raw`(\d{2}):(\d{2}):(\d{2})`;
const imfFixdate = new RegExp(String.raw`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d{2}) ${month} (\d{4}) ${time} GMT$`);
const rfc850 = new RegExp(
  String.raw`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\d{2})-${month}-(\d{2}) ${time} GMT$`,
);
const asctime = new RegExp(String.raw`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${month} ([ \d]\d) ${time} (\d{4})$`);

/**
 * How long the receiver asked to be left alone, in ms; undefined when it asked nothing that can be understood.
 *
 * RFC 9110, section 10.2.3: whole seconds, or a date in any of the three forms of section 5.6.7. Ignored: an empty or
 * unparsable value, a negative number, a date that is past or does not exist, and several field lines, since nobody
 * can say which of them was meant.
 *
 * @param now the database's clock, in ms since 1970
 */
export function retryAfterMs(value: RetryAfter | undefined, now: number): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  const field = Array.isArray(value) ? (value.length === 1 ? value[0] : undefined) : value;
  if (typeof field !== 'string') return undefined;
  const text = field.replace(/^[ \t]+|[ \t]+$/g, '');
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, Number.MAX_SAFE_INTEGER);
  const date = httpDate(text, now);
  return date !== undefined && date > now ? date - now : undefined;
}

function httpDate(text: string, now: number): number | undefined {
  let match = imfFixdate.exec(text);
  if (match) return instant(match[3]!, match[2]!, match[1]!, match.slice(4));
  match = rfc850.exec(text);
  if (match) return instant(fullYear(match[3]!, now), match[2]!, match[1]!, match.slice(4));
  match = asctime.exec(text);
  if (match) return instant(match[6]!, match[1]!, match[2]!, match.slice(3, 6));
  return undefined;
}

// RFC 9110, section 5.6.7: a two-digit year that seems more than 50 years ahead is the latest past one with those digits.
function fullYear(digits: string, now: number): string {
  const thisYear = new Date(now).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + Number(digits);
  return String(year > thisYear + 50 ? year - 100 : year);
}

function instant(year: string, monthName: string, day: string, clock: string[]): number | undefined {
  const [y, m, d] = [Number(year), months.indexOf(monthName), Number(day)];
  const [hour, minute, second] = clock.map(Number) as [number, number, number];
  // 60 is a leap second, which the grammar allows: here the same instant as the second after it.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const midnight = new Date(0).setUTCFullYear(y, m, d);
  // Date carries 31 April over into May: a date that does not exist is not one.
  if (new Date(midnight).getUTCDate() !== d) return undefined;
  return midnight + ((hour * 60 + minute) * 60 + second) * 1_000;
}
