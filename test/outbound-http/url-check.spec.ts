import { checkDestination } from 'nest-deliveries/outbound-http';
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
});
