import { checkHistories } from './check-histories';

// Beside the other long specs it has one of two cores; two lanes keep that one busy while PostgreSQL works.
it('keeps every rule in 5,000 random histories', async () => {
  expect(await checkHistories(5_000, 2)).toBeGreaterThanOrEqual(5_000);
}, 2_400_000);
