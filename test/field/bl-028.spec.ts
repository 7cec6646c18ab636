import { failed, retry, succeeded } from 'nest-deliveries';
import { OutboundHttp, outcomeOf } from 'nest-deliveries/outbound-http';
import { enqueue } from '../faults/support/enqueue';
import { until } from '../faults/support/facts';
import { attemptsOf, rowsOf } from '../faults/support/rows';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { startReceiver } from '../outbound-http/receiver';
import { startDeliveriesApp } from '../support/deliveries-app';
import { createTestDatabase } from '../support/test-database';

// BL-028: a failure whose text PostgreSQL refuses (NUL, half a surrogate pair) can never be written down.

const response = (status: string, body: Buffer, more = ''): Buffer =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\n${more}content-length: ${body.length}\r\nconnection: close\r\n\r\n`, 'latin1'),
    body,
  ]);

/** What the receiver says, and what may be written down of it. */
const answers: [says: Buffer, status: string, error: string][] = [
  [response('500 Internal Server Error', Buffer.from('oops\0tail')), 'pending', '500'],
  [response('500 Internal Server Error', Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x80])), 'pending', '500'],
  [response('503 Service Unavailable', Buffer.from('😀'.repeat(2_000)).subarray(0, 4_001)), 'pending', '503'],
  [response('502 Bad Gateway', Buffer.alloc(5 * 1024 * 1024, 'x')), 'pending', '502'],
  [response('500 Kaputt \xfc\xf6', Buffer.from('x'), 'x-reason: \xe9\xe8\r\n'), 'pending', '500'],
  [response('422 Unprocessable \xdf', Buffer.from('\0')), 'failed', '422'],
];

it('BL-028: settles each attempt as a status code, with nothing of the receiver in the tables', async () => {
  const database = await createTestDatabase();
  const receiver = await startReceiver(({ socket, received }) => {
    const index = Number(/^POST \/(\d+) /.exec(received)![1]);
    socket.end(answers[index]![0]);
  });
  const http = new OutboundHttp({ testMode: true });
  const channel = scriptedChannel({ name: 'http', maxAge: '1d', retry: { first: '1h', max: '1h' } });
  channel.on('post', async ({ payload }, { signal }) => {
    const outcome = outcomeOf(await http.post(`${receiver.origin}/${payload.n}`, { body: '{}', signal }));
    if (outcome.type === 'succeeded') return succeeded();
    return outcome.type === 'failed' ? failed(outcome.kind) : retry(outcome.kind, outcome);
  });
  const app = await startDeliveriesApp(database.url, [channel.type], { sendTimeout: '10s', lease: '60s' });
  try {
    const ids = await enqueue(
      app,
      channel,
      answers.map((_, n) => ({ script: 'post', n })),
    );
    const rows = await until('all are settled', async () => {
      const found = await rowsOf(database, ids);
      return found.every(({ last_error }) => last_error !== null) && found;
    });
    expect(rows.map(({ status, last_error }) => [status, last_error])).toEqual(
      answers.map(([, status, error]) => [status, error]),
    );
    expect((await attemptsOf(database, ...ids)).map(({ error }) => error)).toEqual(answers.map(([, , error]) => error));
    expect(channel.calls).toHaveLength(answers.length);
  } finally {
    await app.close();
    http.close();
    receiver.close();
    await database.drop();
  }
});
