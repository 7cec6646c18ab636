import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { ModulesContainer } from '@nestjs/core';
import { until } from '../faults/support/facts';
import { startDashboardApp, type DashboardApp } from './support/dashboard-app';

const unknown = '0193abcd-0000-7000-8000-000000000001';

/** Every route of the dashboard, as a stranger would try it. `{id}` is a failed delivery. */
const routes = [
  ['GET', ''],
  ['GET', 'overview'],
  ['GET', 'deliveries'],
  ['GET', 'deliveries/bulk?operation=retry&status=failed'],
  ['POST', 'deliveries/bulk'],
  ['GET', 'deliveries/{id}'],
  ['POST', 'deliveries/{id}/retry'],
  ['GET', 'deliveries/{id}/cancel'],
  ['POST', 'deliveries/{id}/cancel'],
  ['GET', 'audit'],
  ['GET', 'pause?channel=letters'],
  ['POST', 'pause'],
  ['POST', 'resume'],
  ['GET', 'assets/{script}'],
] as const;

const token = 't'.repeat(43);
const fields = {
  token,
  operation: 'cancel',
  status: 'failed',
  asOf: '2100-01-01T00:00:00.000Z',
  channel: 'letters',
  for: '1h',
};

// The same on both: what is read of requests and what is done to answers goes through Nest's adapters.
describe.each(['express', 'fastify'] as const)('the routes on %s', (platform) => {
  const prefix = platform === 'express' ? 'v1/ops' : undefined;
  let database: TestDatabase;
  let app: DashboardApp;
  let id: string;
  let script: string;

  beforeAll(async () => {
    database = await createTestDatabase();
    app = await startDashboardApp(database.url, { platform, prefix });
    app.letters.manners.set('Ada', '410');
    [id] = (await app.record('letters', [{ payload: { text: 'a secret' }, recipient: 'a person' }])) as [string];
    await until('it failed', async () => (await app.operations.show(id)).status === 'failed');
    const page = await (await ask('GET', 'overview', { cookie: 'operator=anna' })).text();
    script = /assets\/(dashboard-[0-9a-f]+\.js)/.exec(page)![1]!;
  });

  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const address = (path: string): string =>
    path === '' ? app.url.slice(0, -1) : app.url + path.replace('{id}', id).replace('{script}', script);

  const ask = (method: string, path: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(address(path), {
      method,
      headers,
      redirect: 'manual',
      ...(method === 'POST' ? { body: new URLSearchParams(fields) } : {}),
    });

  /** All that a request could have changed. */
  const facts = (): Promise<unknown[]> =>
    database.query(`
      SELECT (SELECT jsonb_agg(to_jsonb(d) ORDER BY d.id) FROM deliveries.deliveries d) AS deliveries,
             (SELECT jsonb_agg(to_jsonb(e) ORDER BY e.id) FROM deliveries.events e) AS events,
             (SELECT jsonb_agg(to_jsonb(p)) FROM deliveries.delivery_pauses p) AS pauses`);

  it.each(routes)('%s %s is not answered without the guard’s consent', async (method, path) => {
    const before = await facts();
    for (const headers of [undefined, { cookie: `nest-deliveries-form=${token}`, 'sec-fetch-site': 'same-origin' }]) {
      const answer = await ask(method, path, headers);
      expect(answer.status).toBe(403);
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(await answer.text()).not.toMatch(/Ada|letters|dashboard/);
    }
    expect(await facts()).toEqual(before);
  });

  it('that was every route below its path, the JSON API’s apart', () => {
    const prototype = [...app.nest.get(ModulesContainer).values()]
      .flatMap((module) => [...module.controllers.values()])
      .map(({ metatype }) => metatype as { prototype: object })
      .find((controller) => Reflect.getMetadata('path', controller) === 'admin/deliveries')!.prototype;
    const inherited = Object.getPrototypeOf(prototype) as Record<string, object>;
    const declared = Object.getOwnPropertyNames(inherited).flatMap((name) => {
      const path = Reflect.getMetadata('path', inherited[name]!) as string | undefined;
      return path === undefined
        ? []
        : [`${Reflect.getMetadata('method', inherited[name]!)} ${path.replace(/^\/$/, '')}`];
    });
    const tried = routes.map(
      ([method, path]) =>
        `${method === 'GET' ? 0 : 1} ${path.replace(/\?.*/, '').replace('{id}', ':id').replace('{script}', ':name')}`,
    );
    expect(tried.toSorted()).toEqual(declared.toSorted());
  });

  const mine = { cookie: `operator=anna; nest-deliveries-form=${token}` };

  it.each(routes.filter(([method]) => method === 'POST'))(
    '%s %s refuses forms of other sites',
    async (method, path) => {
      const before = await facts();
      for (const headers of [
        { ...mine, 'sec-fetch-site': 'cross-site' },
        { ...mine, 'sec-fetch-site': 'same-site' },
        { ...mine, origin: 'http://evil.example' },
        { ...mine, origin: 'null' },
        { cookie: 'operator=anna', 'sec-fetch-site': 'same-origin' },
        { cookie: `operator=anna; nest-deliveries-form=${'u'.repeat(43)}`, 'sec-fetch-site': 'same-origin' },
      ]) {
        const answer = await ask(method, path, headers);
        expect([headers, answer.status]).toEqual([headers, 403]);
        expect(await answer.text()).toContain('Nothing was changed');
      }
      expect(await facts()).toEqual(before);
    },
  );

  it.each(routes.filter(([method]) => method === 'GET'))(
    '%s %s is for nobody’s cache and in nobody’s frame',
    async (method, path) => {
      const { status, headers } = await ask(method, path, { cookie: 'operator=anna' });
      expect(status).toBe(path === '' ? 303 : 200);
      const isAsset = path.startsWith('assets');
      expect(headers.get('cache-control')).toBe(isAsset ? 'private, max-age=31536000, immutable' : 'no-store');
      expect(headers.get('content-security-policy')).toMatch(
        /^default-src 'none'; script-src 'self'; style-src 'self';.*frame-ancestors 'none'/,
      );
      expect(headers.get('content-security-policy')).not.toMatch(/unsafe/);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    },
  );

  it('leads from its own address to the overview, with and without a slash at the end', async () => {
    const bare = await fetch(app.url.slice(0, -1), { headers: { cookie: 'operator=anna' } });
    expect([bare.url, bare.status]).toEqual([`${app.url}overview`, 200]);
    expect((await ask('GET', 'overview/', { cookie: 'operator=anna' })).status).toBe(
      platform === 'express' ? 200 : 404,
    );
  });

  it('shows payload and recipient to nobody but those who may see them', async () => {
    const seen = async (operator: string): Promise<boolean[]> => {
      const text = await (await ask('GET', 'deliveries/{id}', { cookie: `operator=${operator}` })).text();
      return ['a secret', 'a person'].map((secret) => text.includes(secret));
    };
    expect([await seen('anna'), await seen('grace')]).toEqual([
      [false, false],
      [true, true],
    ]);
  });

  it.each<[string, number]>([
    [`deliveries/${unknown}`, 404],
    ['deliveries/nonsense', 404],
    ['deliveries?stauts=failed', 400],
    ['deliveries?status=lost', 400],
    ['deliveries?after=nonsense', 400],
    ['overview?window=1y', 400],
    ['audit?typ=nonsense', 400],
    ['pause', 400],
    ['deliveries/bulk?operation=retry', 400],
    ['assets/dashboard.js', 404],
  ])('%s is answered with %d and a page that says what to do', async (path, status) => {
    const answer = await ask('GET', path, { cookie: 'operator=anna' });
    expect(answer.status).toBe(status);
    expect(await answer.text()).not.toMatch(/^\{|node_modules|\n {4}at /);
  });

  it.each<[string, Record<string, string>, number]>([
    ['deliveries/bulk', { operation: 'delete' }, 400],
    ['deliveries/bulk', { asOf: 'soon' }, 400],
    ['deliveries/bulk', { chanel: 'letters' }, 400],
    ['pause', { for: 'ever' }, 400],
    ['pause', { for: 'toString' }, 400],
    [`deliveries/${unknown}/cancel`, {}, 404],
  ])('a form to %s with %p changes nothing', async (path, over, status) => {
    const before = await facts();
    const answer = await fetch(address(path), {
      method: 'POST',
      headers: { ...mine, 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ ...fields, ...over }),
    });
    expect(answer.status).toBe(status);
    expect(await facts()).toEqual(before);
  });

  it('a form of its own page does what it says, and leads to a page that can be reloaded', async () => {
    const answer = await fetch(address('pause'), {
      method: 'POST',
      headers: { ...mine, 'sec-fetch-site': 'same-origin' },
      body: new URLSearchParams({ token, channel: 'letters', for: '15m' }),
    });
    expect([answer.url, answer.status]).toEqual([`${app.url}overview?done=paused`, 200]);
    expect(await app.operations.pauses()).toMatchObject([{ channel: 'letters', actor: 'anna' }]);
  });
});
