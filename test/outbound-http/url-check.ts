import * as fc from 'fast-check';
import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import { checkDestination, classifyAddress } from 'nest-deliveries/outbound-http';

/** Text that parsers disagree about, mixed with text that is fine. */
const pieces = fc.oneof(
  fc.constantFrom(
    'https://',
    'https://',
    'https://',
    'HTTPS://',
    'http://',
    'https:',
    'https:/',
    'https:///',
    '//',
    '/',
    '?',
    '#',
    ':',
    '@',
    '\\',
    '%',
    '.',
    '..',
    '[',
    ']',
    '-',
    '_',
    '~',
    '!',
    '$',
    '&',
    "'",
    '(',
    ')',
    '*',
    '+',
    ',',
    ';',
    '=',
    '|',
    '<',
    '>',
    '"',
    '^',
    '`',
    '{',
    '}',
    'example',
    'example.com',
    'EXAMPLE.com',
    'exämple.com',
    'xn--exmple-cua.com',
    'xn--',
    'a',
    'b.c',
    'com',
    'test',
    'localhost',
    'LOCALHOST',
    '127.0.0.1',
    '8.8.8.8',
    '93.184.216.34',
    '10.0.0.1',
    '0x7f.1',
    '0177.0.0.1',
    '2130706433',
    '1',
    '0',
    '08',
    '256',
    '169.254.169.254',
    '::1',
    '2606:4700:4700::1111',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    'fe80::1%25eth0',
    '%eth0',
    'v1.x',
    ':443',
    ':8443',
    ':0',
    ':00443',
    ':65536',
    ':99999999999',
    ':-1',
    ':x',
    ':',
    'user',
    'user:pass@',
    '@@',
    '%2e',
    '%2f',
    '%40',
    '%00',
    '%0a',
    '%25',
    '%5c',
    '%EF%BC%8E',
    '\t',
    '\n',
    '\r',
    '\0',
    ' ',
    '\u00a0',
    '\u3000',
    '\u2028',
    '\ufeff',
    '\u00ad',
    '\u200b',
    '\u200d',
    '\u202e',
    '\u3002',
    '\uff0e',
    '\uff61',
    '\uff0f',
    '\uff1a',
    '\uff20',
    '\uff03',
    '\uff3c',
    '\u2044',
    '\u212a',
    '\u017f',
    '\u2160',
    '\uff11',
    '\uff41',
    '\u24d0',
    '①',
    'ß',
    'İ',
    'ı',
    'Ä',
    'ﬀ',
    'é',
    'e\u0301',
    '日本',
    '\ud800',
    '\udc00',
    '😀',
  ),
  fc.string({ unit: 'grapheme', maxLength: 4 }),
  fc.string({ unit: 'binary', maxLength: 3 }),
);

/** Free mixtures, and mixtures where a destination's parts stand in their places. */
export const strings: fc.Arbitrary<string> = fc.oneof(
  fc.array(pieces, { maxLength: 8 }).map((parts) => parts.join('')),
  fc.array(pieces, { minLength: 1, maxLength: 6 }).map((parts) => `https://${parts.join('')}`),
  fc.tuple(pieces, pieces, pieces).map(([host, port, path]) => `https://${host}.example.com${port}/${path}`),
  fc.tuple(fc.ipV6(), pieces).map(([address, rest]) => `https://[${address}]${rest}`),
  fc.tuple(fc.ipV4Extended(), pieces).map(([address, rest]) => `https://${address}${rest}`),
  fc.webUrl({ validSchemes: ['https'], withQueryParameters: true }),
);

/**
 * Fails when a string is allowed whose parsed host is not what its raw text shows. What the text shows is read off
 * with the expression of RFC 3986 appendix B, which shares nothing with the WHATWG algorithm or with our own reading.
 *
 * @returns whether the string was allowed
 */
export function allowsOnlyWhatIsShown(text: string): boolean {
  if (!checkDestination(text, { profile: 'registry' }).allowed) {
    return false;
  }
  const [, scheme = '', , authority = '', , , , , fragment] =
    /^(([^:/?#]+):)?(\/\/([^/?#]*))?([^?#]*)(\?([^#]*))?(#(.*))?/s.exec(text)?.slice(1) ?? [];
  const url = new URL(text);
  const shown = authority.replace(/:\d*$/, '');
  const host = url.hostname;
  const problems = [
    scheme.toLowerCase() !== 'https' && 'another scheme',
    url.protocol !== 'https:' && 'parsed as another scheme',
    (url.username !== '' || url.password !== '' || authority.includes('@')) && 'credentials',
    fragment !== undefined && 'a fragment',
    text.length > 2048 && 'too long',
    !showsHost(shown, host) && `shows ${JSON.stringify(shown)} and means ${JSON.stringify(host)}`,
    host.endsWith('.') && 'a trailing dot',
    url.port === '0' && 'port 0',
    !hostIsFine(host) && 'a host of another form',
  ].filter((problem) => problem !== false);
  if (problems.length > 0) {
    throw new Error(`${JSON.stringify(text)} is allowed: ${problems.join(', ')}`);
  }
  return true;
}

function showsHost(shown: string, host: string): boolean {
  // eslint-disable-next-line no-control-regex -- ASCII is the point: other letters are not folded
  const lower = shown.replace(/[\x00-\x7f]/g, (letter) => letter.toLowerCase());
  if (host.startsWith('[')) {
    return new URL(`https://${shown}`).hostname === host && /^\[[0-9a-fA-F:.]+\]$/.test(shown);
  }
  return lower === host || (lower === domainToUnicode(host) && !isIP(host));
}

function hostIsFine(host: string): boolean {
  const literal = host.startsWith('[') ? host.slice(1, -1) : host;
  if (isIP(literal)) {
    return classifyAddress(literal, { profile: 'registry' }).allowed;
  }
  return host.length <= 253 && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(host) && !/(^|\.)localhost$/.test(host);
}

/** Runs the property and tells what share of the strings was allowed, so that a check which refuses all is noticed. */
export function checkStrings(numRuns: number): number {
  let allowed = 0;
  fc.assert(
    fc.property(strings, (text) => {
      allowed += allowsOnlyWhatIsShown(text) ? 1 : 0;
    }),
    { numRuns },
  );
  return allowed / numRuns;
}
