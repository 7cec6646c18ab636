import { InvalidRequestError } from '../errors';

/**
 * Headers that frame the message or name its receiver. They are the client's to set: another Host would pick another
 * virtual host behind a checked address, and a second framing is how one request becomes two.
 */
const OURS = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'upgrade',
  'http2-settings',
  'expect',
  'te',
  'trailer',
]);

/** RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible ASCII, spaces and tabs: RFC 9110 section 5.5 without its obsolete bytes beyond ASCII. */
const VALUE = /^[\t\x20-\x7e]*$/;

/**
 * Throws unless a caller's headers can be sent as they are: for use when headers are configured, too, so that a
 * mistake shows then and not at the first delivery. The message names the header, never its value.
 *
 * @throws InvalidRequestError `FORBIDDEN_HEADER` or `INVALID_HEADER`
 */
export function checkHeaders(headers: Readonly<Record<string, string>>): void {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    if (!TOKEN.test(name)) {
      throw new InvalidRequestError(
        'INVALID_HEADER',
        `header name ${JSON.stringify(name)} is no HTTP token; rename it.`,
      );
    }
    const key = name.toLowerCase();
    if (OURS.has(key)) {
      throw new InvalidRequestError('FORBIDDEN_HEADER', `header ${name} is set by the client itself; leave it out.`);
    }
    if (seen.has(key)) {
      throw new InvalidRequestError('INVALID_HEADER', `header ${name} is there twice, in two spellings; keep one.`);
    }
    seen.add(key);
    if (typeof value !== 'string' || !VALUE.test(value)) {
      throw new InvalidRequestError(
        'INVALID_HEADER',
        `header ${name} must be a string of visible ASCII, spaces and tabs; encode what is beyond.`,
      );
    }
  }
}
