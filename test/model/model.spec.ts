// A history that fails is shrunk and printed in words, with the seed and the path that play it again:
//
//   MODEL_SEED=… MODEL_PATH=… npx jest test/model/model.spec.ts
//
// MODEL_RUNS=500 plays another number of histories, MODEL_LOG=1 prints each step when it is taken. What a step can be is
// in commands.ts, what must be so after each in queue-model.ts and tables.ts.
import { checkHistories } from './check-histories';

it('keeps every rule in 50 random histories', async () => {
  expect(await checkHistories(50, 1)).toBeGreaterThan(0);
}, 600_000);
