import { checkStrings } from './url-check';

it('allows no string whose parsed host is not what its text shows, of a million', () => {
  for (let batch = 0; batch < 10; batch++) {
    expect(checkStrings(100_000)).toBeGreaterThan(0.05);
  }
}, 600_000);
