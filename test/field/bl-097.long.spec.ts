import { expectCalm, slowSpell } from '../observe/support/slow-database';

jest.setTimeout(240_000);

it('BL-097: the same for two minutes, past every lease', async () => {
  const spell = await slowSpell(120);
  expectCalm(spell);
  expect(spell.arrived).toEqual(['before', 'after']);
});
