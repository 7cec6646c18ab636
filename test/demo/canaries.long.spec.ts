import { findings, nothing, tooLittle } from './play';

jest.setTimeout(300_000);

it('after the whole demonstration no key, secret, payload, signature or URL is in the tables, the logs, the metrics or any object', async () => {
  const found = await findings('whole');
  expect(found).toMatchObject(nothing);
  expect(tooLittle(found)).toEqual([]);
});
