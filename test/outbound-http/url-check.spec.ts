import { checkDestination, OutboundHttp } from 'nest-deliveries/outbound-http';
import { checkStrings } from './url-check';

describe('the check of a URL', () => {
  it('allows no string whose parsed host is not what its text shows', () => {
    const share = checkStrings(20_000);
    expect(share).toBeGreaterThan(0.05);
    expect(share).toBeLessThan(0.9);
  });

  it.each([
    ['https://\u212aexample.com/', 'host-not-canonical', 'the Kelvin sign, which folds to k'],
    ['https://EXÄMPLE.com/', 'host-not-canonical', 'upper case beyond ASCII'],
    ['https://exa\u0308mple.com/', 'host-not-canonical', 'a decomposed letter'],
    ['https://example.com./', 'trailing-dot', 'a trailing dot'],
    ['https://127.0.0.1./', 'host-not-canonical', 'a trailing dot after an address'],
    ['https://localhost/', 'localhost', 'localhost'],
    ['https://a.localhost/', 'localhost', 'a name under localhost'],
    ['https://intranet/', 'single-label', 'one label'],
    ['https://127.1/', 'host-not-canonical', 'a short address'],
    ['https://user@example.com/', 'credentials', 'a user'],
    ['https://example.com:0/', 'port', 'port 0'],
    ['https://[fe80::1%25eth0]/', 'malformed', 'a zone'],
    ['https://[::ffff:127.0.0.1]/', 'loopback', 'a mapped address'],
    ['https://example.com:443:443/', 'malformed', 'two ports'],
    ['https://[::1', 'malformed', 'an open bracket'],
    ['https://example.com\u2028/', 'forbidden-character', 'a line separator'],
    ['https://example.com/\ud800', 'forbidden-character', 'half a surrogate pair'],
    [`https://${'a'.repeat(64)}.example.com/`, 'name-not-valid', 'a label of 64'],
    ['https://exa!mple.com/', 'name-not-valid', 'a letter that no name has'],
    ['https://example.com/#', 'fragment', 'an empty fragment'],
    ['http://127.0.0.1/', 'not-https', 'no test mode'],
    [`https://example.com/${'x'.repeat(2029)}`, 'too-long', '2,049 characters'],
  ])('refuses %j as %s: %s', (url, reason) => {
    expect(checkDestination(url, { profile: 'registry' })).toEqual({ allowed: false, reason });
  });

  it.each([undefined, null, 5, {}, ['https://example.com/']])('refuses %p, which is no text', (url) => {
    // @ts-expect-error: what a caller without types may pass
    expect(checkDestination(url, { profile: 'registry' })).toEqual({ allowed: false, reason: 'malformed' });
  });
});

describe('test mode', () => {
  const http = new OutboundHttp({ testMode: true, deny: ['127.0.0.9/32'] });

  it.each([
    'http://127.0.0.1/',
    'https://127.0.0.1:8443/',
    'http://127.9.9.9:80/',
    'http://[::1]:8080/x?y',
    'https://[0:0::1]/',
  ])('lets %s through', (url) => {
    expect(http.checkDestination(url)).toEqual({ allowed: true });
    expect(new OutboundHttp().checkDestination(url).allowed).toBe(false);
  });

  it.each([
    ['http://8.8.8.8/', 'not-https'],
    ['http://example.com/', 'not-https'],
    ['http://localhost/', 'localhost'],
    ['http://10.0.0.1/', 'not-https'],
    ['https://10.0.0.1/', 'private'],
    ['http://0.0.0.0/', 'not-https'],
    ['https://[::ffff:127.0.0.1]/', 'loopback'],
    ['http://127.1/', 'host-not-canonical'],
    ['ftp://127.0.0.1/', 'not-https'],
    ['http://user@127.0.0.1/', 'credentials'],
    ['http://127.0.0.9/', 'denied-by-operator'],
  ])('does not let %s through: %s', (url, reason) => {
    expect(http.checkDestination(url)).toEqual({ allowed: false, reason });
  });

  it('does not let a name through that resolves to loopback', async () => {
    const resolver = async () => ['127.0.0.1'];
    const result = await new OutboundHttp({ testMode: true, resolver }).post('https://receiver.example.test/');
    expect(result).toEqual({ type: 'refused', reason: 'loopback' });
  });
});
