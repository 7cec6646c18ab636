import { expectCalm, slowSpell } from '../observe/support/slow-database';

// BL-097: a slow database makes liveness fail, so that the orchestrator restarts every worker.

jest.setTimeout(180_000);

it('BL-097: with a database that takes 5 s, a pool that is used up and a partner that is down, only readiness fails, and recovers', async () => {
  const spell = await slowSpell(20);
  expectCalm(spell);
  expect(spell.arrived).toEqual(['before', 'after']);
});
