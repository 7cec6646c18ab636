import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DeliveryNotFoundError, DeliveryStateError, InvalidRequestError, RequestTimeoutError } from '../../errors';
import type { DeliveryDetail, DeliverySummary } from '../delivery-view';
import type { ChannelStats, Throughput } from '../overview/overview-view';
import { attention } from './pages/attention';
import { auditPage } from './pages/audit-page';
import { chartRanges, chartView, niceTop } from './pages/chart';
import { bulkConfirmPage, bulkGoesOnPage, cancelConfirmPage, pauseConfirmPage } from './pages/confirm-page';
import { detailPage } from './pages/detail-page';
import { errorPage } from './pages/error-page';
import { bulkHref, listHref } from './pages/links';
import { listPage } from './pages/list-page';
import { machineryView, type MachineryFacts } from './pages/machinery';
import { doneNotice } from './pages/notices';
import { overviewPage } from './pages/overview-page';
import type { Page } from './pages/page';
import { timeline } from './pages/timeline';
import { durationText, percentText, timeView } from './pages/words';
import { loadAssets } from './render/assets';
import { dashboardFolder } from './render/dashboard-files';
import { frameOf } from './render/frame';
import { compileTemplates } from './render/templates';
import { conditionsOf, filterOf } from './request/list-query';
import { problemOf } from './request/problems';
import { baseOf, formOf, rootOf, type IncomingRequest } from './request/request';
import { formToken, whyForeign } from './request/same-site';

const now = Date.parse('2026-03-29T01:30:00Z');
const minute = 60_000;
const before = (ms: number): Date => new Date(now - ms);
const id = '0193abcd-0000-7000-8000-000000000001';
const markup = '"><svg onload=window.__x=1>';

const summary = (over: Partial<DeliverySummary> = {}): DeliverySummary => ({
  id,
  eventId: id,
  channel: 'webhooks',
  destination: 'Acme',
  lane: null,
  orderingKey: null,
  status: 'failed',
  inFlight: false,
  attempts: 2,
  lastError: '503',
  createdAt: before(10 * minute),
  dueAt: before(minute),
  retriedAt: null,
  settledAt: before(minute),
  deadline: null,
  ...over,
});

const detail = (over: Partial<DeliveryDetail> = {}): DeliveryDetail => ({
  ...summary(),
  payload: { secret: 'in the payload' },
  recipient: { secret: 'in the recipient' },
  crashes: 0,
  leaseExpiresAt: null,
  attemptRows: [
    { number: 1, startedAt: before(9 * minute), endedAt: before(8 * minute), outcome: 'retried', error: 'timeout' },
    { number: 2, startedAt: before(2 * minute), endedAt: before(minute), outcome: 'failed', error: '503' },
  ],
  event: { id, type: 'order_updated', payload: { orderId: 'o' }, actor: 'ada', occurredAt: before(11 * minute) },
  operations: [],
  blockedBy: null,
  ...over,
});

const channel = (over: Partial<ChannelStats> = {}): ChannelStats => ({
  channel: 'webhooks',
  known: true,
  pauses: [],
  pausedLanes: 0,
  pending: { count: 0, capped: false },
  failed: { count: 0, capped: false },
  due: 0,
  inFlight: 0,
  oldestPendingSince: null,
  ...over,
});

const machinery = (over: Partial<MachineryFacts> = {}): MachineryFacts => ({
  wakeUps: 'listening',
  cleanUpInterval: 10 * minute,
  cleanedUpAt: before(minute),
  cleanUpIdleFor: minute,
  sends: ['webhooks'],
  ...over,
});

const throughput = (...failed: number[]): Throughput => ({
  since: before(failed.length * minute),
  until: new Date(now),
  bucketMs: minute,
  buckets: failed.map((_, at) => before((failed.length - at) * minute)),
  channels: [
    {
      channel: 'webhooks',
      succeeded: failed.map(() => 997),
      failed,
      cancelled: failed.map(() => 0),
      estimated: false,
    },
  ],
});

describe('words', () => {
  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_000, '1.0 s'],
    [59_999, '1 min'],
    [61_000, '1 min 1 s'],
    [3_600_000, '1 h'],
    [26 * 3_600_000, '1 d 2 h'],
    [40 * 86_400_000, '40 d'],
  ])('%d ms last %s', (ms, text) => expect(durationText(ms)).toBe(text));

  it.each([
    [-90_000, '1 min ago'],
    [5 * 3_600_000, 'in 5 h'],
    [1_000, 'now'],
    [-1_000, 'just now'],
  ])('an instant %d ms away is %s, and exact in UTC', (away, text) => {
    const at = new Date(now + away);
    expect(timeView(at, now)).toEqual({
      iso: at.toISOString(),
      exact: expect.stringMatching(/^2026-03-29 \d\d:\d\d:\d\d UTC$/),
      text,
    });
  });

  it('never rounds a failure away, nor a success', () => {
    expect([percentText(99_999, 100_000), percentText(1, 100_000), percentText(5, 5), percentText(0, 0)]).toEqual([
      '99.9 %',
      '0.1 %',
      '100 %',
      '–',
    ]);
  });
});

describe('chart', () => {
  it('stacks to the height of the largest, and one failure beside a thousand can be seen', () => {
    const { bars, height, legend, summary: words, ticks } = chartView(throughput(1, 0), chartRanges[0]);
    const [succeeded, failed] = bars[0]!.parts;
    expect(ticks).toEqual(['1,000', '500', '0']);
    expect(succeeded).toMatchObject({ kind: 'succeeded', y: round(height - 0.997 * height) });
    expect(failed).toMatchObject({ kind: 'failed', height: 2, hatched: true });
    expect(bars[1]!.parts).toHaveLength(1);
    expect(legend.map(({ total }) => total)).toEqual(['1,994', '1', '0']);
    expect(words).toBe('Deliveries that ended in the last hour: 1,994 succeeded, 1 failed, 0 cancelled');
  });

  it.each([
    [0, 2],
    [3, 4],
    [11, 20],
    [290, 300],
    [999_999, 1_000_000],
  ])('for %d at most the scale ends at %d', (most, top) => expect(niceTop(most)).toBe(top));
});

const round = (value: number): number => Math.round(value * 100) / 100;

describe('attention', () => {
  const titles = (over: Partial<ChannelStats>, facts: Partial<MachineryFacts> = {}): string[] =>
    attention({
      channels: [channel(over)],
      failures: [summary(), summary({ lastError: 'timeout' }), summary()],
      machinery: machineryView(machinery(facts), now),
      now,
    }).map(({ tone, title, text }) => `${tone}: ${title} | ${text ?? ''}`);
  const waiting = { pending: { count: 3, capped: false }, due: 3, oldestPendingSince: before(20 * minute) };

  it('has nothing to say while all goes well', () => {
    expect(titles({})).toEqual([]);
    expect(titles({ ...waiting, inFlight: 1, oldestPendingSince: before(minute) })).toEqual([]);
    // All of them wait for their next attempt.
    expect(titles({ ...waiting, due: 0 })).toEqual([]);
  });

  it.each<[string, Partial<ChannelStats>, RegExp]>([
    [
      'failures, with the kind that most have',
      { failed: { count: 3, capped: false } },
      /^bad: .*3 deliveries failed \| .*503/,
    ],
    ['a stuck channel', waiting, /^bad: webhooks: stuck, 3 waiting, the oldest since 20 min/],
    ['a channel that is behind', { ...waiting, inFlight: 2 }, /^warn: webhooks: behind/],
    ['a channel that nobody declares', { ...waiting, known: false }, /^warn: webhooks: not known here/],
    [
      'a pause instead of what waits for its end',
      {
        ...waiting,
        pauses: [
          { channel: 'webhooks', lane: null, reason: 'operator', actor: 'ada', since: before(minute), until: null },
        ],
      },
      /^warn: webhooks: paused \| By ada 1 min ago, until somebody resumes it$/,
    ],
    [
      'a pause that the channel itself made, as worse',
      {
        pauses: [
          { channel: 'webhooks', lane: null, reason: 'login_rejected', actor: null, since: before(0), until: null },
        ],
      },
      /^bad: webhooks: paused \| login_rejected/,
    ],
  ])('names %s', (_, over, expected) => {
    const found = titles(over);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(expected);
  });

  it('names machinery that does not run', () => {
    expect(titles({}, { wakeUps: 'deaf', cleanUpIdleFor: 31 * minute })).toEqual([
      expect.stringContaining('Notifications do not arrive'),
      expect.stringContaining('Clean-up has not run'),
    ]);
    expect(titles({}, { cleanUpInterval: undefined, cleanUpIdleFor: 31 * minute })).toEqual([]);
  });
});

describe('timeline', () => {
  const titles = (over: Partial<DeliveryDetail>): string[] => timeline(detail(over), now).map(({ title }) => title);
  const unfinished = { status: 'pending', settledAt: null, attemptRows: [] } as const;

  it('goes from the event over attempts and operators to the end', () => {
    const operations = [
      { id, type: 'delivery_retried', payload: {}, actor: 'ada', occurredAt: before(5 * minute) },
    ] as const;
    expect(titles({ operations })).toEqual([
      'Recorded, because of order_updated',
      'Attempt 1 did not work',
      'ada retried it',
      'Attempt 2 failed for good',
    ]);
  });

  it.each<[string, Partial<DeliveryDetail>, string]>([
    ['success', { status: 'succeeded', attemptRows: [] }, 'Attempt 2 succeeded'],
    ['an end without an attempt', { lastError: 'expired', attempts: 3 }, 'Failed'],
    ['an attempt under way', { ...unfinished, inFlight: true }, 'Attempt 2 is under way'],
    ['the next attempt', unfinished, 'Attempt 3 is due'],
    [
      'what blocks it',
      {
        ...unfinished,
        blockedBy: { id, status: 'failed', inFlight: false, attempts: 1, lastError: null, dueAt: before(0) },
      },
      'Waits behind an earlier delivery of its key',
    ],
  ])('ends with %s', (_, over, last) => expect(titles(over).at(-1)).toBe(last));

  it('shows the newest hundred of a thousand attempts', () => {
    const attemptRows = Array.from({ length: 1_000 }, (_, at) => ({
      number: at + 1,
      startedAt: before(1_000_000 - at * 900),
      endedAt: before(1_000_000 - at * 900),
      outcome: 'retried' as const,
      error: '503',
    }));
    expect(titles({ ...unfinished, attempts: 1_000, attemptRows })).toEqual([
      'Recorded, because of order_updated',
      ...Array.from({ length: 100 }, (_, at) => `Attempt ${901 + at} did not work`),
      'Attempt 1001 is due',
    ]);
  });
});

describe('filters in addresses', () => {
  const conditions = {
    status: 'failed',
    channel: markup,
    createdAfter: new Date('2026-03-28T00:00:00Z'),
    ids: [id, id],
  } as const;

  it('come back as they were', () => {
    const query = (href: string): URLSearchParams => new URL(href, 'http://localhost').searchParams;
    expect(conditionsOf(query(listHref(conditions)))).toEqual(conditions);
    expect(conditionsOf(query(bulkHref('retry', conditions)), ['operation'])).toEqual(conditions);
    expect(filterOf(query(listHref({ ...conditions, after: '1_x' })))).toEqual({ ...conditions, after: '1_x' });
  });

  it('take a field for a time as UTC, and leave out what a form left empty', () => {
    expect(conditionsOf(new URLSearchParams('createdBefore=2026-03-29T02:30&error='))).toEqual({
      createdBefore: new Date('2026-03-29T02:30:00Z'),
    });
  });

  it.each(['chanel=email', 'status=failed&status=pending', 'createdAfter=yesterday', 'createdAfter=2026-02-31'])(
    'refuse %s',
    (text) => expect(() => conditionsOf(new URLSearchParams(text))).toThrow(InvalidRequestError),
  );
});

describe('requests', () => {
  const request = (over: Partial<IncomingRequest> = {}): IncomingRequest => ({
    method: 'POST',
    url: '/ops/deliveries/x?y=1',
    headers: {},
    ...over,
  });

  it('are told the way back to the dashboard, whatever lies before it', () => {
    expect(rootOf(request({ url: '/a/overview' }), 1)).toBe('./');
    expect(rootOf(request({ url: '/a/overview/?window=1h' }), 1)).toBe('../');
    expect(rootOf(request({ originalUrl: '/v1/a/deliveries/x/cancel' }), 3)).toBe('../../');
    expect([baseOf(request({ url: '/a/admin' })), baseOf(request({ url: '/a/admin/' }))]).toEqual(['./admin/', './']);
  });

  const token = 't'.repeat(43);
  const cookie = `other=1; nest-deliveries-form=${token}`;
  const body = { token };

  it.each<[string, Partial<IncomingRequest>, ReturnType<typeof whyForeign>]>([
    ['a page of this dashboard', { headers: { cookie, 'sec-fetch-site': 'same-origin' }, body }, undefined],
    [
      'a browser that says only its origin',
      { headers: { cookie, origin: 'http://a:1', host: 'a:1' }, body },
      undefined,
    ],
    [
      'one behind a proxy',
      { headers: { cookie, origin: 'https://a', host: 'inner', 'x-forwarded-host': 'a' }, body },
      undefined,
    ],
    ['another site', { headers: { cookie, 'sec-fetch-site': 'cross-site' }, body }, 'other-site'],
    ['a sibling domain', { headers: { cookie, 'sec-fetch-site': 'same-site' }, body }, 'other-site'],
    ['a sibling domain over HTTP', { headers: { cookie, origin: 'http://b.a', host: 'a' }, body }, 'other-site'],
    ['a sandboxed frame', { headers: { cookie, origin: 'null', host: 'a' }, body }, 'other-site'],
    ['no cookie', { headers: { 'sec-fetch-site': 'same-origin' }, body }, 'no-token'],
    [
      'another token',
      { headers: { cookie, 'sec-fetch-site': 'same-origin' }, body: { token: 'u'.repeat(43) } },
      'no-token',
    ],
    [
      'an empty cookie',
      { headers: { cookie: 'nest-deliveries-form=', 'sec-fetch-site': 'same-origin' }, body: { token: '' } },
      'no-token',
    ],
    ['no form that was read', { headers: { cookie, 'sec-fetch-site': 'same-origin' } }, 'no-token'],
  ])('a form of %s', (_, over, why) => expect(whyForeign(request(over))).toBe(why));

  it('keep their token, and get one that no script reads', () => {
    expect(formToken(request({ headers: { cookie } }))).toEqual({ token, cookie: undefined });
    const given = formToken(request());
    expect(given.cookie).toBe(`nest-deliveries-form=${given.token}; Path=/; HttpOnly; SameSite=Strict`);
    expect(given.token).not.toBe(formToken(request()).token);
  });

  it('give fields as texts, and nothing else', () => {
    const form = formOf(request({ body: { a: 'x', b: ['y', 'z'], c: { d: 'e' }, f: 7 } }));
    expect([...form]).toEqual([
      ['a', 'x'],
      ['b', 'y'],
      ['b', 'z'],
    ]);
  });
});

test.each<[unknown, number | undefined]>([
  [new DeliveryNotFoundError(id, true), 404],
  [new DeliveryStateError(id, 'retry', 'pending', false, 'why'), 409],
  [new InvalidRequestError('status', 'must be one'), 400],
  [new RequestTimeoutError(3_000), 503],
  [Object.assign(new Error('connect ECONNREFUSED 10.0.0.1'), { code: 'ECONNREFUSED' }), 503],
  [new Error('Connection terminated unexpectedly'), 503],
  [new TypeError('of ours'), undefined],
  [Object.assign(new TypeError('of ours'), { code: 'ERR_INVALID_ARG_TYPE' }), undefined],
  ['thrown text', undefined],
])('%p is answered with %p', (error, status) => expect(problemOf(error)?.status).toBe(status));

test('an address never puts words of its own on a page', () => {
  expect(doneNotice(new URLSearchParams('done=retried&changed=12&busy=1'))).toMatchObject({
    title: '12 deliveries retried',
  });
  for (const query of ['done=<b>', 'done=toString', 'done=__proto__', 'done=', 'changed=5'])
    expect(doneNotice(new URLSearchParams(query))).toBeUndefined();
});

describe('templates', () => {
  const render = compileTemplates();
  const assets = loadAssets();
  const html = (page: Page): string =>
    render(page.template, { ...page.model, frame: frameOf(page, assets, { root: './', token: 'token' }) });

  const hostile = detail({
    destination: markup,
    channel: markup,
    lane: markup,
    orderingKey: markup,
    payload: { text: `${markup}</pre></script><script>` },
    event: { id, type: markup, payload: { x: markup }, actor: markup, occurredAt: before(0) },
    operations: [{ id, type: markup, payload: { channel: markup }, actor: markup, occurredAt: before(0) }],
  });
  const pause = { channel: markup, lane: null, reason: 'operator', actor: markup, since: before(minute), until: null };
  const notice = doneNotice(new URLSearchParams('done=paused'));
  const list = { deliveries: [hostile], next: '1_x', searchedTo: null };
  const none = { deliveries: [], next: undefined, searchedTo: null };
  const facts = { throughput: throughput(1, 0, 2), range: chartRanges[1], machinery: machinery(), now };
  const counted = { count: 3, capped: false, asOf: before(0) };
  const pages: Record<string, Page> = {
    overview: overviewPage({
      ...facts,
      channels: [channel({ channel: markup, pauses: [pause], failed: counted })],
      pauses: [pause, { ...pause, lane: markup, until: before(-minute) }],
      failures: [hostile],
      notice,
    }),
    'empty overview': overviewPage({
      ...facts,
      throughput: { ...throughput(), channels: [] },
      channels: [],
      pauses: [],
      failures: [],
      notice: undefined,
    }),
    list: listPage({ filter: { destination: markup, newerThan: '1h' }, page: list, channels: [markup], now, notice }),
    'empty list': listPage({ filter: {}, page: none, channels: [], now, notice: undefined }),
    'list that was searched in part': listPage({
      filter: { error: markup, after: '1_x' },
      page: { ...none, next: '2_x', searchedTo: before(minute) },
      channels: [],
      now,
      notice: undefined,
    }),
    detail: detailPage({ delivery: hostile, canSeePayload: true, pauses: [], now, notice }),
    'waiting detail': detailPage({
      delivery: {
        ...hostile,
        status: 'pending',
        settledAt: null,
        event: null,
        blockedBy: { id, status: 'failed', inFlight: false, attempts: 1, lastError: '503', dueAt: before(0) },
      },
      canSeePayload: false,
      pauses: [pause, { ...pause, lane: markup }],
      now,
      notice: undefined,
    }),
    audit: auditPage({
      filter: { actor: markup },
      page: {
        events: [
          {
            id,
            type: markup,
            payload: { channel: markup, lane: markup },
            actor: markup,
            occurredAt: before(0),
            deliveryId: null,
          },
          { id, type: 'delivery_retried', payload: null, actor: null, occurredAt: before(0), deliveryId: id },
        ],
        next: '1_x',
      },
      now,
    }),
    'empty audit': auditPage({ filter: {}, page: { events: [], next: undefined }, now }),
    'confirm retry': bulkConfirmPage('retry', { destination: markup, ids: [id] }, counted),
    'confirm nothing': bulkConfirmPage('cancel', { channel: markup }, { ...counted, count: 0 }),
    'confirm the rest': bulkGoesOnPage(
      'cancel',
      { channel: markup },
      { changed: 5_000, busy: 2, next: 'x' },
      { asOf: 'now', spreadOver: '' },
    ),
    'confirm cancel': cancelConfirmPage({ ...hostile, status: 'pending', inFlight: true }),
    'nothing to cancel': cancelConfirmPage({ ...hostile, status: 'succeeded' }),
    'confirm pause': pauseConfirmPage(markup, markup),
    error: errorPage(
      { status: 400, title: 'Not understood', text: markup, again: true },
      `?x=${encodeURIComponent(markup)}`,
    ),
  };

  it.each(Object.keys(pages))('%s: everything is escaped, and nothing runs', (name) => {
    const text = html(pages[name]!);
    expect(text).not.toContain('<svg onload');
    expect(text).not.toMatch(/ on[a-z]+="| style=|javascript:/);
    expect(text.match(/<script/g)).toHaveLength(1);
    expect(text).not.toMatch(/\bundefined\b|\[object/);
    // What is shown of it is shown literally.
    expect(text.includes('&lt;svg onload')).toBe(!name.includes('empty'));
  });

  it('show payload and recipient only to those who may see them', () => {
    const of = (canSeePayload: boolean): string =>
      html(detailPage({ delivery: detail(), canSeePayload, pauses: [], now, notice: undefined }));
    expect(of(true)).toContain('in the payload');
    expect(of(true)).toContain('in the recipient');
    expect(of(false)).not.toMatch(/in the (payload|recipient)|orderId/);
  });

  it('never ask for text to be taken for markup, and quote every attribute', () => {
    const files = readdirSync(dashboardFolder(), { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.hbs'),
    );
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const text = readFileSync(join(dashboardFolder(), file), 'utf8');
      expect([file, ...text.matchAll(/\{\{\{|\{\{~?&|=\{\{/g)]).toEqual([file]);
    }
  });

  it('are found at start, or the start says what to do', () => {
    expect(() => dashboardFolder('/')).toThrow('admin: { dashboard: false }');
  });

  it('load files whose names change with their content', () => {
    const { names } = assets;
    expect(names.script).toMatch(/^dashboard-[0-9a-f]{12}\.js$/);
    expect(assets.byName(names.style)).toMatchObject({ type: 'text/css; charset=utf-8' });
    expect(assets.byName('dashboard.js')).toBeUndefined();
  });
});
