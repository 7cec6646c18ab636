import { StandardSecret, signStandard } from 'nest-deliveries/webhooks';
import { Service } from '../accounts/support/service';
import { createTestCa } from '../../src/demo/certificates';
import { until } from '../faults/support/facts';
import { startTestReceiver, type TestReceiver } from './support/receiver';

const routes = '/admin/webhooks/endpoints';

let service: Service;
let receiver: TestReceiver;

beforeAll(async () => {
  const ca = await createTestCa();
  receiver = await startTestReceiver(await ca.issue({ hosts: ['127.0.0.1'] }));
  service = await Service.start({ outboundHttp: { testMode: { ca: ca.certificate } } });
});

afterAll(async () => {
  await service.close();
  receiver.close();
});

it('operators register and mend endpoints over HTTP; what is wrong with a request is said in words, and strangers have no say', async () => {
  const token = 'operator';
  const kinds = ['account_created'];
  expect((await service.call('POST', routes, { body: { url: receiver.url, kinds } })).status).toBe(401);
  const refused = await Promise.all(
    [{ url: 'https://10.0.0.1/', kinds }, { url: 5, kinds }, { url: receiver.url, kinds: [] }, undefined].map((body) =>
      service.call<{ message: string }>('POST', routes, { token, body }),
    ),
  );
  expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
  for (const { body } of refused) expect(body.message).toMatch(/^The .+ must be .+\.$/);

  const { endpoint } = await service.must<{ endpoint: { id: string } }>('POST', routes, {
    token,
    body: { url: receiver.url, kinds },
  });
  const at = `${routes}/${endpoint.id}`;
  receiver.answer(() => 410);
  await service.must('POST', '/accounts', { body: { handle: 'ada' } });
  const list = (): Promise<{ status: string; disabledReason: string | null }[]> =>
    service.must('GET', routes, { token });
  await until('the endpoint is disabled', async () => (await list())[0]!.status === 'disabled');
  expect(await list()).toMatchObject([{ status: 'disabled', disabledReason: 'gone' }]);
  const counted = await until('the message has failed', async () => {
    const answer = await service.must<{ count: number; asOf: string }>('POST', `${at}/failed/count`, { token });
    return answer.count === 1 && { asOf: answer.asOf };
  });
  expect((await service.call('POST', `${at}/failed/retry`, { token, body: counted })).status).toBe(409);
  expect(await service.call('POST', `${at}/failed/count`, { token, body: { from: 'x' } })).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining('The from must be a valid Date.') },
  });
  await service.must('POST', `${at}/enable`, { token });
  receiver.answer(() => 204);
  // Nobody sends again what was not counted before.
  const uncounted = await service.call<{ message: string }>('POST', `${at}/failed/retry`, { token });
  expect(uncounted).toMatchObject({ status: 400, body: { message: expect.stringContaining('count first') } });
  expect(await service.must('POST', `${at}/failed/retry`, { token, body: counted })).toMatchObject({ changed: 1 });
  await until('it has arrived', () => receiver.arrivals.length === 2);
  await service.must('POST', `${at}/test`, { token });
  await until('a test has arrived', () => receiver.arrivals.length === 3);
  await service.must('POST', `${at}/disable`, { token });
  expect((await service.call('POST', `${at}/test`, { token })).status).toBe(409);
  const unknown = `${routes}/019ad4a2-0000-7000-8000-ffffffffffff/rotate`;
  expect((await service.call('POST', unknown, { token })).status).toBe(404);
});

it('the inbox handles what the other party signed, once', async () => {
  const { path, secret } = await service.must<{ path: string; secret: string }>('GET', '/admin/webhooks/inbox', {
    token: 'operator',
  });
  const body = Buffer.from('{ "type": "invoice.paid" }');
  const timestamp = Math.floor(Date.now() / 1_000);
  const post = async (key: StandardSecret): Promise<[number, unknown]> => {
    const headers = signStandard([key], { id: 'msg_1', timestamp, body });
    const response = await fetch(service.application.url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    return [response.status, await response.json()];
  };
  const known = new StandardSecret(secret);
  expect(await post(known)).toEqual([200, { duplicate: false }]);
  expect(await post(known)).toEqual([200, { duplicate: true }]);
  const stranger = new StandardSecret(`whsec_${Buffer.alloc(32, 1).toString('base64')}`);
  expect((await post(stranger))[0]).toBe(401);
  const events = await service.database.query(
    `SELECT payload FROM deliveries.events WHERE type = 'partner_message_received'`,
  );
  expect(events).toEqual([{ payload: { messageId: 'msg_1' } }]);
});
