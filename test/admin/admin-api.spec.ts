import {
  Injectable,
  Module,
  VersioningType,
  type CanActivate,
  type ExecutionContext,
  type INestApplication,
} from '@nestjs/common';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { ScheduleModule } from '@nestjs/schedule';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  DatabaseUnreachableError,
  DeliveriesModule,
  DeliveriesOptionsError,
  DeliveryOperations,
  type AdminOptions,
} from 'nest-deliveries';
import type * as Library from 'nest-deliveries';
import { randomUUID } from 'node:crypto';
import { DataSource } from 'typeorm';
import { isUnreachable } from '../../libs/deliveries/src/database/unreachable';
import { Reader } from '../../libs/deliveries/src/operate/reader';
import { until } from '../faults/support/facts';
import { countByStatus } from '../faults/support/rows';
import { scriptedChannel } from '../faults/support/scripted-channel';
import { startTcpProxy } from '../support/tcp-proxy';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { insertDeliveries, quiet } from './support/table';

/** Whom the guard lets in, in a module of the host's own. */
@Injectable()
class Tokens {
  readonly valid = ['operator', 'reader', 'nobody'];
}
@Module({ providers: [Tokens], exports: [Tokens] })
class TokensModule {}

interface Request {
  readonly headers: Record<string, string | undefined>;
  user?: object;
}

@Injectable()
class TokenGuard implements CanActivate {
  constructor(private readonly tokens: Tokens) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const token = request.headers['authorization']?.replace('Bearer ', '') ?? '';
    if (token !== 'nobody') request.user = { email: `${token}@example.com` };
    return this.tokens.valid.includes(token);
  }
}

const admin: AdminOptions = {
  guards: [TokenGuard],
  imports: [TokensModule],
  dashboard: false,
  canSeePayload: ({ user }: { user?: { email: string } }) => Promise.resolve(user?.email === 'reader@example.com'),
};
const mail = scriptedChannel({ name: 'mail', maxAge: '1d' });

let database: TestDatabase;
const opened: INestApplication[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
});
beforeEach(async () => {
  await database.query(
    'TRUNCATE deliveries.deliveries, deliveries.delivery_attempts, deliveries.events, deliveries.delivery_pauses',
  );
});
afterAll(async () => {
  await Promise.all(opened.map((app) => app.close()));
  await database.drop();
});

async function serve(
  options: AdminOptions | undefined,
  prepare: (app: INestApplication) => void = () => {},
  fastify = false,
): Promise<string> {
  const module = await Test.createTestingModule({
    imports: [
      TypeOrmModule.forRoot({ type: 'postgres', url: database.url, retryAttempts: 0 }),
      ScheduleModule.forRoot(),
      DeliveriesModule.forRoot({ ...quiet, ...(options && { admin: options }) }),
    ],
    providers: [mail.type],
  }).compile();
  const app: INestApplication = fastify
    ? module.createNestApplication(new FastifyAdapter())
    : module.createNestApplication();
  opened.push(app);
  prepare(app);
  await app.listen(0, '127.0.0.1');
  return (await app.getUrl()).replace('[::1]', '127.0.0.1');
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: any;
}

async function ask(url: string, init: RequestInit = {}, token = 'operator'): Promise<Answer> {
  const headers = new Headers(init.headers);
  if (token !== '') headers.set('authorization', `Bearer ${token}`);
  const response = await fetch(url, { ...init, headers });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
}

const post = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

/** Every route, with a request that would change or show something. */
const routes = (id: string): [method: string, path: string, body?: object][] => [
  ['GET', 'deliveries'],
  ['GET', 'count?status=failed'],
  ['GET', `deliveries/${id}`],
  ['POST', `deliveries/${id}/retry`, {}],
  ['POST', `deliveries/${id}/cancel`, {}],
  ['POST', 'retry', { conditions: { channel: 'mail' } }],
  ['POST', 'cancel', { conditions: { channel: 'mail' } }],
  ['GET', 'stats'],
  ['GET', 'throughput'],
  ['GET', 'pauses'],
  ['POST', 'pause', { channel: 'mail' }],
  ['POST', 'resume', { channel: 'mail' }],
  ['GET', 'audit'],
];

describe.each([
  ['Express', false],
  ['Fastify', true],
])('on %s', (_, fastify) => {
  let base: string;
  let app: INestApplication;
  const failures = async (count: number): Promise<string[]> => {
    await insertDeliveries(database, { count, status: 'failed', error: "'410'" });
    const { body } = await ask(`${base}/deliveries?status=failed`);
    return (body as { deliveries: { id: string }[] }).deliveries.map(({ id }) => id);
  };

  beforeAll(async () => {
    const url = await serve(
      admin,
      (made) => {
        app = made;
        made.setGlobalPrefix('v/1');
        made.enableVersioning({ type: VersioningType.URI });
      },
      fastify,
    );
    base = `${url}/v/1/admin/deliveries/api`;
  });

  it('lets nobody near any route whom the guard does not let in, and lets in whom it does', async () => {
    const [id] = await failures(1);
    const registered = Object.keys(SwaggerModule.createDocument(app, new DocumentBuilder().build()).paths);
    expect(registered).toHaveLength(routes('').length);
    const [before] = await database.query("SELECT md5(string_agg(d::text, '')) AS all FROM deliveries.deliveries d");
    for (const [method, path, body] of routes(id!)) {
      const init = body ? post(body) : { method };
      for (const token of ['', 'stranger']) {
        const { status, headers, body: answer } = await ask(`${base}/${path}`, init, token);
        expect([path, status, headers.get('cache-control')]).toEqual([path, 403, 'no-store']);
        expect(Object.keys(answer as object).toSorted()).toEqual(['error', 'message', 'statusCode']);
      }
    }
    expect(await database.query("SELECT md5(string_agg(d::text, '')) AS all FROM deliveries.deliveries d")).toEqual([
      before,
    ]);
    expect(
      await database.query('SELECT FROM deliveries.events UNION ALL SELECT FROM deliveries.delivery_pauses'),
    ).toEqual([]);
    for (const [method, path, body] of routes(id!)) {
      const { status, headers } = await ask(`${base}/${path}`, body ? post(body) : { method });
      expect([path, status, headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
        path,
        200,
        'no-store',
        'nosniff',
      ]);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
    }
  });

  it('changes nothing on the word of another site, and works for programs and for pages of its own', async () => {
    const [id] = await failures(1);
    const url = `${base}/deliveries/${id}/retry`;
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const own = new URL(base).host;
    const refused: [number, RequestInit][] = [
      [415, { method: 'POST', headers: form, body: 'restartAgeBehind=true' }],
      [415, { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{}' }],
      [415, { method: 'POST' }],
      [403, post({}, { 'sec-fetch-site': 'cross-site' })],
      [403, post({}, { 'sec-fetch-site': 'same-site' })],
      [403, post({}, { origin: 'https://evil.example' })],
      [403, post({}, { origin: 'null' })],
    ];
    for (const [status, init] of refused) expect((await ask(url, init)).status).toBe(status);
    expect(await countByStatus(database)).toEqual({ failed: 1 });
    expect((await ask(url, post({}, { 'sec-fetch-site': 'same-origin', origin: `http://${own}` }))).status).toBe(200);
    expect((await ask(`${base}/deliveries/${id}/cancel`, post({}, { origin: `http://${own}` }))).status).toBe(200);
    expect((await ask(url, post({}))).status).toBe(200);
  });

  it('shows payloads and recipients to whom the host says, and to nobody else', async () => {
    const [id] = await failures(1);
    await database.query(
      `UPDATE deliveries.deliveries SET payload = '{"secret":"s3cret"}', recipient = '{"account":"s3cret"}'`,
    );
    await database.query(
      `INSERT INTO deliveries.events (id, type, payload, occurred_at) SELECT event_id, 'paid', '{"card":"s3cret"}', now() FROM deliveries.deliveries`,
    );
    const hidden = await ask(`${base}/deliveries/${id}`);
    expect(JSON.stringify(hidden.body)).not.toContain('s3cret');
    expect(hidden.body).toMatchObject({
      payloadShown: false,
      payload: null,
      recipient: null,
      event: { type: 'paid', payload: null },
    });
    const shown = await ask(`${base}/deliveries/${id}`, {}, 'reader');
    expect(shown.body).toMatchObject({
      payloadShown: true,
      payload: { secret: 's3cret' },
      recipient: { account: 's3cret' },
      event: { payload: { card: 's3cret' } },
    });
    for (const path of ['deliveries', 'audit', 'stats']) {
      expect(JSON.stringify((await ask(`${base}/${path}`, {}, 'reader')).body)).not.toContain('s3cret');
    }
  });

  it('records who did it, and does nothing for nobody', async () => {
    const [id] = await failures(1);
    const nobody = await ask(`${base}/deliveries/${id}/retry`, post({}), 'nobody');
    expect([nobody.status, nobody.body.message]).toEqual([403, expect.stringContaining('admin.actor')]);
    expect((await ask(`${base}/retry`, post({ conditions: { ids: [id] }, actor: 'somebody else' }))).status).toBe(400);
    expect((await ask(`${base}/retry`, post({ conditions: { ids: [id] } }))).body).toEqual({ changed: 1, busy: 0 });
    const { body } = await ask(`${base}/audit`);
    expect(body).toEqual({
      events: [
        {
          id: expect.any(String),
          type: 'delivery_retried',
          actor: 'operator@example.com',
          deliveryId: id,
          occurredAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          payload: { bulk: true, channel: 'mail', restartedBehind: 0 },
        },
      ],
    });
  });

  it('says in its errors what was wrong', async () => {
    const [id] = await failures(1);
    const answers: [string, RequestInit, object][] = [
      [
        'deliveries?statu=failed',
        {},
        { statusCode: 400, path: 'statu', message: expect.stringContaining('the nearest is status') },
      ],
      ['deliveries?status=done', {}, { statusCode: 400, path: 'status' }],
      ['deliveries?status=failed&status=pending', {}, { statusCode: 400, path: 'status' }],
      ['deliveries?limit=ten', {}, { statusCode: 400, path: 'limit' }],
      ['deliveries?createdAfter=yesterday', {}, { statusCode: 400, path: 'createdAfter' }],
      ['deliveries?channel=a%00b', {}, { statusCode: 400, path: 'channel' }],
      ['deliveries?createdAfter=2026-02-31T00:00:00Z', {}, { statusCode: 400, path: 'createdAfter' }],
      ['stats?x=1', {}, { statusCode: 400, path: 'x', message: expect.stringMatching(/^x is not known here\./) }],
      ['throughput?window=1y', {}, { statusCode: 400, path: 'window' }],
      ['audit?deliveryId=1', {}, { statusCode: 400, path: 'deliveryId' }],
      ['count?operation=purge&status=failed', {}, { statusCode: 400, path: 'operation' }],
      ['count?operation=toString&status=failed', {}, { statusCode: 400, path: 'operation' }],
      ['retry', post({ conditions: {} }), { statusCode: 400, path: 'conditions' }],
      ['retry', post({ conditions: [] }), { statusCode: 400, path: 'conditions' }],
      [
        'pause',
        post({ channel: 'mial' }),
        { statusCode: 400, path: 'channel', message: expect.stringContaining('"mail"') },
      ],
      [
        'cancel',
        post({ conditions: { createdBefore: '2026-04-31T00:00:00Z' } }),
        { statusCode: 400, path: 'createdBefore' },
      ],
      [`deliveries/${id}/retry`, post({ force: true }), { statusCode: 400, path: 'force' }],
      [
        `deliveries/${id}/retry`,
        post({ restartAgeBehind: 'surely' }),
        { statusCode: 400, path: 'restartAgeBehind', message: expect.stringContaining('must be true or false') },
      ],
      [
        'retry',
        post({ conditions: { ids: [id] }, restartAgeBehind: 1 }),
        { statusCode: 400, path: 'restartAgeBehind' },
      ],
      [`deliveries/${randomUUID()}`, {}, { statusCode: 404, code: 'DELIVERIES_NOT_FOUND', abandoned: false }],
      ['deliveries/x/retry', post({}), { statusCode: 404 }],
    ];
    for (const [path, init, expected] of answers) {
      const { status, body } = await ask(`${base}/${path}`, init);
      expect({ path, ...body }).toMatchObject({ path: path.split('?')[0], ...expected });
      expect(status).toBe(body.statusCode);
    }
    await ask(`${base}/deliveries/${id}/retry`, post({}));
    const again = await ask(`${base}/deliveries/${id}/retry`, post({}));
    expect(again.body).toMatchObject({ statusCode: 409, code: 'DELIVERIES_STATE', status: 'pending', inFlight: false });
    expect(again.headers.get('cache-control')).toBe('no-store');
  });

  it('filters, pages, counts and changes what was counted', async () => {
    await failures(25);
    const first = await ask(`${base}/deliveries?status=failed&error=410&channel=mail&limit=10&destination=`);
    expect(first.body.deliveries).toHaveLength(10);
    const second = await ask(`${base}/deliveries?status=failed&limit=20&after=${first.body.next}`);
    expect(second.body).toMatchObject({ searchedTo: null });
    expect([second.body.deliveries.length, 'next' in second.body]).toEqual([15, false]);
    const [tenth] = await database.query<{ created_at: Date }>(
      'SELECT created_at FROM deliveries.deliveries ORDER BY created_at DESC OFFSET 9 LIMIT 1',
    );
    const since = new Date(tenth!.created_at.getTime() - 500).toISOString();
    expect((await ask(`${base}/count?createdAfter=${since}`)).body).toEqual({ count: 10, capped: false });
    const count = await ask(`${base}/count?operation=cancel&channel=mail`);
    expect(count.body).toEqual({ count: 25, capped: false, asOf: expect.any(String) });
    const { asOf } = count.body as { asOf: string };
    const report = await ask(`${base}/cancel`, post({ conditions: { channel: 'mail' }, asOf, limit: 20 }));
    expect(report.body).toEqual({ changed: 20, busy: 0, next: expect.any(String) });
    const rest = await ask(`${base}/cancel`, post({ conditions: { channel: 'mail' }, asOf, after: report.body.next }));
    expect(rest.body).toEqual({ changed: 5, busy: 0 });
    const ahead = new Date(Date.now() + 60_000).toISOString();
    const paused = await ask(`${base}/pause`, post({ channel: 'mail', lane: 'l', until: ahead }));
    expect(paused.body).toMatchObject({
      channel: 'mail',
      lane: 'l',
      reason: 'operator',
      actor: 'operator@example.com',
      until: ahead,
    });
    expect((await ask(`${base}/pauses`)).body).toEqual([paused.body]);
    expect((await ask(`${base}/resume`, post({ channel: 'mail', lane: 'l' }))).body).toEqual([paused.body]);
    expect((await ask(`${base}/pauses`)).body).toEqual([]);
    const { since: from, until: to } = (await ask(`${base}/pause`, post({ channel: 'mail', for: '1.5h' }))).body;
    expect(Date.parse(to) - Date.parse(from)).toBe(5_400_000);
  });
});

describe('without', () => {
  it('options there is no route', async () => {
    const url = await serve(undefined);
    expect((await ask(`${url}/admin/deliveries/api/stats`)).status).toBe(404);
    const elsewhere = await serve({ ...admin, path: '/ops/queue/', api: true });
    expect((await ask(`${elsewhere}/ops/queue/api/stats`)).status).toBe(200);
    expect((await ask(`${elsewhere}/admin/deliveries/api/stats`)).status).toBe(404);
    const off = await serve({ ...admin, api: false });
    expect((await ask(`${off}/admin/deliveries/api/stats`)).status).toBe(404);
  });

  it.each([
    [{}, /guards must be a list of at least one Nest guard; got undefined\. Without one, everybody/],
    [{ guards: [] }, /guards must be a list of at least one Nest guard/],
    [{ guards: [undefined] }, /guards must be a list/],
    [{ guards: [TokenGuard], path: 'a b' }, /path must be plain segments/],
    [{ guards: [TokenGuard], path: '/' }, /path must be plain segments/],
    [{ guards: [TokenGuard], actor: 'me' }, /actor must be a function/],
    [{ guards: [TokenGuard], api: 'yes' }, /api must be true or false/],
    [{ guards: [TokenGuard], gards: [] }, /there is no option "gards"; the nearest is "guards"/],
  ])('a guard, or with %j, there is no application', (options, message) => {
    const made = (): unknown => DeliveriesModule.forRoot({ admin: options as never });
    expect(made).toThrow(DeliveriesOptionsError);
    expect(made).toThrow(message);
  });

  it('@nestjs/swagger it works, undescribed', () => {
    jest.isolateModules(() => {
      jest.doMock('@nestjs/swagger', () => {
        throw Object.assign(new Error("Cannot find module '@nestjs/swagger'"), { code: 'MODULE_NOT_FOUND' });
      });
      const { DeliveriesModule: alone } = jest.requireActual<typeof Library>('nest-deliveries');
      expect(alone.forRoot({ admin: { guards: [TokenGuard] } }).controllers).toHaveLength(2);
    });
    jest.dontMock('@nestjs/swagger');
  });

  it('the database it says so, and nothing else', async () => {
    const url = await serve(admin);
    const operations = opened.at(-1)!.get(DeliveryOperations);
    const lost = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:5432'), { code: 'ECONNREFUSED' });
    jest.spyOn(operations, 'stats').mockRejectedValue(lost);
    const { status, body } = await ask(`${url}/admin/deliveries/api/stats`);
    expect([status, body.code]).toEqual([503, 'DELIVERIES_DATABASE_UNREACHABLE']);
    expect(JSON.stringify(body)).not.toContain('10.1.2.3');
  });

  it('a sign of life of the database no page waits for ever', async () => {
    const url = new URL(database.url);
    const line = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
    url.port = String(line.port);
    // A connection that was good when it was taken, as the host's pool has them.
    const dataSource = await new DataSource({ type: 'postgres', url: url.href, poolSize: 1 }).initialize();
    const reader = new Reader(dataSource, 200);
    expect(await reader.rows('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    line.freeze();
    for (let turn = 0; turn < 2; turn += 1) {
      const error = await reader.rows('SELECT 1 AS one').catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(DatabaseUnreachableError);
      expect(error).toMatchObject({ message: 'PostgreSQL did not answer within 0.2 s. Try again when it does.' });
      expect(isUnreachable(error)).toBe(true);
    }
    line.thaw();
    await until('it answers again', () =>
      reader.rows('SELECT 1').then(
        () => true,
        () => false,
      ),
    );
    await dataSource.destroy();
    await line.close();
  });
});
