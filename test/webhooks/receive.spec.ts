import { Controller, HttpCode, Inject, Module, Post, type INestApplication } from '@nestjs/common';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DeliveriesModule } from 'nest-deliveries';
import {
  Received,
  signStandard,
  StandardPrivateKey,
  StandardPublicKey,
  StandardSecret,
  VerifyWebhook,
  WebhookReceipts,
  WebhookSigningKey,
  WebhooksModule,
  WebhookVerifier,
  type ReceivedMessage,
} from 'nest-deliveries/webhooks';
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { DataSource } from 'typeorm';
import { gate, until } from '../faults/support/facts';
import { testPace } from '../support/deliveries-app';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { newSigningKey } from './support/webhooks-app';

const key = newSigningKey('partner-1');
const secret = new StandardSecret(`whsec_${randomBytes(32).toString('base64')}`);
const privateKey = new StandardPrivateKey(`whsk_${randomBytes(32).toString('base64')}`);
const limit = 200;

const handled: ReceivedMessage[] = [];
let beforeCommit: () => Promise<void> = () => Promise.resolve();

@Controller('hooks')
class HooksController {
  constructor(
    @Inject(DataSource) private readonly dataSource: DataSource,
    private readonly receipts: WebhookReceipts,
  ) {}

  @Post('partner')
  @HttpCode(200)
  @VerifyWebhook('partner')
  take(@Received() message: ReceivedMessage): Promise<string> {
    return this.dataSource.transaction(async (tx) => {
      if (!(await this.receipts.isFirst(tx, message))) return 'duplicate';
      handled.push(message);
      await beforeCommit();
      return 'handled';
    });
  }
}

@Module({ controllers: [HooksController] })
class HooksModule {}

let database: TestDatabase;

beforeAll(async () => (database = await createTestDatabase()));
afterAll(() => database.drop());

const imports = (): Parameters<typeof Test.createTestingModule>[0]['imports'] => [
  TypeOrmModule.forRoot({ type: 'postgres', url: database.url, retryAttempts: 0 }),
  ScheduleModule.forRoot(),
  DeliveriesModule.forRoot({ ...testPace, run: [] }),
  WebhooksModule.forRoot({
    receive: { partner: { rullst: [key], standard: [secret, new StandardPublicKey(privateKey.publicKey)], limit } },
  }),
  HooksModule,
];

const body = Buffer.from('{ "order": 42 }');
const id = `msg_${'ab'.repeat(16)}`;
const now = (): number => Math.floor(Date.now() / 1_000);

const signed = (content: Buffer = body, messageId = id): Record<string, string> => ({
  'content-type': 'application/json',
  ...key.sign({ id: messageId, kind: 'order.paid', timestamp: now(), body: content }),
});

const adapters = ['express', 'fastify'] as const;

describe.each(adapters)('a route behind @VerifyWebhook, on %s', (adapter) => {
  let app: INestApplication;
  let port: number;

  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: imports() }).compile();
    const options = { rawBody: true, logger: false } as const;
    app =
      adapter === 'express'
        ? module.createNestApplication(options)
        : module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), options);
    await app.listen(0, '127.0.0.1');
    port = (app.getHttpServer().address() as AddressInfo).port;
  });

  afterEach(() => void handled.splice(0));
  afterAll(() => app.close());

  /** @param headers names and values in turn, so that one can be there twice */
  function post(path: string, headers: readonly string[], content: Buffer): Promise<{ status: number; body: string }> {
    return new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers }, (response) => {
        void text(response).then((answer) => resolve({ status: response.statusCode!, body: answer }), reject);
      });
      sent.on('error', reject);
      sent.end(content);
    });
  }

  const flat = (headers: Record<string, string>, content: Buffer = body): string[] => [
    'host',
    'receiver',
    'content-length',
    String(content.length),
    ...Object.entries(headers).flat(),
  ];

  const fresh = (): string => `msg_${randomBytes(16).toString('hex')}`;

  it('takes what either scheme signed, with the raw bytes, and refuses everything else in one and the same way', async () => {
    const first = fresh();
    expect(await post('/hooks/partner', flat(signed(body, first)), body)).toEqual({ status: 200, body: 'handled' });
    expect(handled[0]).toMatchObject({ source: 'partner', scheme: 'rullst-v1', id: first, kind: 'order.paid' });
    expect(Buffer.from(handled[0]!.body).equals(body)).toBe(true);
    for (const standardKey of [secret, privateKey]) {
      const headers = signStandard([standardKey], { id: fresh(), timestamp: now(), body });
      const standard = { 'content-type': 'application/json', ...headers };
      expect((await post('/hooks/partner', flat(standard), body)).status).toBe(200);
    }
    const good = signed(body, fresh());
    const { 'Rullst-Webhook-Signature': signature, ...unsigned } = good;
    const late = key.sign({ id: fresh(), kind: 'a', timestamp: now() - 302, body });
    const bad: Record<string, string[]> = {
      unsigned: flat(unsigned),
      'signed twice': [...flat(good), 'rullst-webhook-signature', signature!],
      'of another key': flat({ ...good, 'Rullst-Webhook-Key-Id': 'partner-2' }),
      'over other bytes': flat(signed(Buffer.from('{ "order": 43 }'))),
      're-serialized': flat(signed(Buffer.from(JSON.stringify(JSON.parse(body.toString()))))),
      'too old': flat({ 'content-type': 'application/json', ...late }),
      'of nobody': flat({ 'content-type': 'application/json' }),
    };
    const answers = await Promise.all(Object.values(bad).map((headers) => post('/hooks/partner', headers, body)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
      new Set([JSON.stringify({ status: 401, body: answers[0]!.body })]),
    );
    expect(handled).toHaveLength(3);
    // What was refused has left no trace that would keep the real message out.
    const receipts = await database.query(
      `SELECT message_id FROM deliveries.webhook_receipts WHERE source = 'partner'`,
    );
    expect(receipts.map((row) => row['message_id'])).not.toContain(good['Rullst-Webhook-Id']);
    expect(await post('/hooks/partner', flat(good), body)).toEqual({ status: 200, body: 'handled' });
  });

  it('takes no more than the limit, announced or not, and any content type', async () => {
    const long = Buffer.from(`["${'x'.repeat(limit - 3)}"]`);
    expect((await post('/hooks/partner', flat(signed(long), long), long)).status).toBe(413);
    const plain = { ...signed(body, fresh()), 'content-type': 'application/octet-stream' };
    const isExpress = adapter === 'express';
    // Fastify itself knows no such type; on Express the bytes are read here.
    expect((await post('/hooks/partner', flat(plain), body)).status).toBe(isExpress ? 200 : 415);
    const chunked = ['host', 'receiver', 'transfer-encoding', 'chunked', ...Object.entries(plain).flat()];
    expect((await post('/hooks/partner', chunked, long)).status).toBe(isExpress ? 413 : 415);
    const exact = Buffer.from(`["${'x'.repeat(limit - 4)}"]`);
    expect((await post('/hooks/partner', flat(signed(exact, fresh()), exact), exact)).status).toBe(200);
  });

  it('handles a message once: what comes again while it is being handled waits, and is a duplicate or takes its place', async () => {
    const message = flat(signed(body, fresh()));
    for (const [ending, expected] of [
      ['rolls back', { status: 200, body: 'handled' }],
      ['commits', { status: 200, body: 'duplicate' }],
    ] as const) {
      const inside = gate();
      const go = gate();
      beforeCommit = async () => {
        beforeCommit = () => Promise.resolve();
        inside.open();
        await go.passed;
        if (ending === 'rolls back') throw new Error('not now');
      };
      const headers = ending === 'rolls back' ? message : flat(signed(body, fresh()));
      const first = post('/hooks/partner', headers, body);
      await inside.passed;
      const second = post('/hooks/partner', headers, body);
      await until('the second waits for the first', async () => {
        const rows = await database.query(
          `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = $1`,
          [database.name],
        );
        return rows.length === 1;
      });
      go.open();
      expect((await first).status).toBe(ending === 'rolls back' ? 500 : 200);
      expect(await second).toEqual(expected);
    }
  });
});

@Controller('strangers')
class OneOfManyController {
  @Post('known')
  @VerifyWebhook('partner')
  known(): void {}

  @Post('unknown')
  @VerifyWebhook('stranger')
  unknown(): void {}
}

@Controller('strangers')
@VerifyWebhook('stranger')
class AllController {}

it.each([
  ['a route', OneOfManyController],
  ['a controller', AllController],
])('an application in which %s names a sender that nobody knows does not start', async (_, controller) => {
  const module = await Test.createTestingModule({ imports: imports(), controllers: [controller] }).compile();
  await expect(module.init()).rejects.toMatchObject({
    code: 'WEBHOOK_CONFIGURATION',
    message: expect.stringMatching(
      /^@VerifyWebhook\("stranger"\) .* known are: partner\. Add it to the option receive\.$/,
    ),
  });
  await module.close();
});

it('where the raw bytes are gone nothing is verified, and the log says what to do', async () => {
  const module = await Test.createTestingModule({ imports: imports() }).compile();
  const app = module.createNestApplication({ logger: false });
  const lines: unknown[] = [];
  app.useLogger({ log: () => undefined, warn: () => undefined, error: (line: unknown) => void lines.push(line) });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/hooks/partner`, { method: 'POST', headers: signed(), body });
  await app.close();
  expect(answer.status).toBe(500);
  expect(lines.join()).toContain('rawBody: true');
});

it('a receipt is kept for at least two tolerances, and removed when its time is over', async () => {
  const module = await Test.createTestingModule({ imports: imports() }).compile();
  await module.init();
  const [receipts, dataSource] = [module.get(WebhookReceipts), module.get(DataSource)];
  const isFirst = (messageId: string, keepFor?: number): Promise<boolean> =>
    dataSource.transaction((tx) =>
      receipts.isFirst(tx, { source: 'other', id: messageId }, keepFor === undefined ? {} : { keepFor }),
    );
  expect([await isFirst('a'), await isFirst('a'), await isFirst('b', 600_000)]).toEqual([true, false, true]);
  await expect(isFirst('c', 599_999)).rejects.toMatchObject({ code: 'WEBHOOK_INPUT' });
  const [{ kept }] = (await database.query(
    `SELECT bool_and(forget_at > clock_timestamp() + interval '590 s') AS kept FROM deliveries.webhook_receipts WHERE source = 'other'`,
  )) as [{ kept: boolean }];
  expect(kept).toBe(true);
  await database.query(`DELETE FROM deliveries.webhook_receipts WHERE source <> 'other'`);
  await database.query(`UPDATE deliveries.webhook_receipts SET forget_at = clock_timestamp() - interval '1 s'`);
  await isFirst('d');
  const left = await database.query(`SELECT message_id FROM deliveries.webhook_receipts WHERE source = 'other'`);
  expect(left).toEqual([{ message_id: 'd' }]);
  await module.close();
});

it.each<[string, ConstructorParameters<typeof WebhookVerifier>[1]]>([
  ['without any key', {}],
  ['with an offline key', { rullst: [new WebhookSigningKey('k', 'mock_k')] }],
  ['with two keys of one id', { rullst: [newSigningKey('k'), newSigningKey('k')] }],
  ['with a tolerance of 301 s', { rullst: [key], tolerance: 301 }],
  ['with a limit of nothing', { rullst: [key], limit: 0 }],
  ['with an option that there is none', { rullst: [key], tolerence: 5 } as { rullst: WebhookSigningKey[] }],
])('a verifier %s is refused when it is configured', (_, options) => {
  expect(() => new WebhookVerifier('partner', options)).toThrow(
    expect.objectContaining({ code: 'WEBHOOK_CONFIGURATION' }),
  );
});
