import { findings, nothing, tooLittle } from './play';

// A process that loads the whole application, and an act of the demonstration.
jest.setTimeout(180_000);

it('after the act about webhooks no key, secret, payload, signature or URL is in the tables, the log, the metrics or any object', async () => {
  const found = await findings('webhooks');
  expect(found).toMatchObject(nothing);
  expect(tooLittle(found)).toEqual([]);
});
