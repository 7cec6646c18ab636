import { WakeUps } from 'nest-deliveries';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { until } from '../faults/support/facts';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { describeInBrowser, TestBrowser } from './support/browser';
import { listenerPace } from '../../libs/deliveries/src/wake-up/listener';
import { deafLineTo } from '../wake-up/deaf-line';
import { startDashboardApp, type DashboardApp } from './support/dashboard-app';

jest.setTimeout(120_000);

describeInBrowser('what an operator does', () => {
  let database: TestDatabase;
  let app: DashboardApp;
  let browser: TestBrowser;
  let anna: BrowserContext;
  let page: Page;

  beforeAll(async () => {
    database = await createTestDatabase();
    // An attempt that is under way stays so, however slow the machine is.
    const deliveries = { sendTimeout: '20s', lease: '60s', shutdownGrace: 100 } as const;
    [app, browser] = await Promise.all([startDashboardApp(database.url, { deliveries }), TestBrowser.launch()]);
    anna = await operator('anna');
  });

  afterAll(async () => {
    await browser?.close();
    await app?.close();
    await database?.drop();
  });

  beforeEach(async () => {
    await database.query('TRUNCATE deliveries.deliveries, deliveries.events, deliveries.delivery_pauses CASCADE');
    for (const channel of [app.letters, app.parcels]) {
      channel.sent.length = 0;
      channel.manners.clear();
    }
    page = await browser.page(anna);
  });

  afterEach(async () => {
    await page.close();
    browser.requireContent();
  });

  async function operator(name: string, options: Parameters<TestBrowser['context']>[0] = {}): Promise<BrowserContext> {
    const context = await browser.context(options);
    await context.addCookies([{ name: 'operator', value: name, url: app.url }]);
    return context;
  }

  const statusesOf = async (ids: readonly string[]): Promise<(string | undefined)[]> => {
    const sql = 'SELECT id, status FROM deliveries.deliveries WHERE id = ANY ($1)';
    const rows = await database.query<{ id: string; status: string }>(sql, [ids]);
    return ids.map((id) => rows.find((row) => row.id === id)?.status);
  };

  const ended = (ids: readonly string[], status: string): Promise<unknown> =>
    until(`all of them ${status}`, async () => {
      const sql = 'SELECT FROM deliveries.deliveries WHERE id = ANY ($1) AND status = $2';
      return (await database.query(sql, [ids, status])).length === ids.length;
    });

  /** Records deliveries that fail with this kind at their first attempt. */
  async function failing(
    destinations: readonly string[],
    kind: '410' | '422' = '410',
    channel: 'letters' | 'parcels' = 'letters',
  ) {
    for (const destination of destinations) app[channel].manners.set(destination, kind);
    const ids = await app.record(
      channel,
      destinations.map((destination) => ({ destination })),
    );
    await ended(ids, 'failed');
    return ids;
  }

  /** As if the tab had been looked at again: the page renews itself at once. */
  const lookAgain = (): Promise<unknown> => page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);

  const button = (name: string | RegExp, within: Page | Locator = page): Locator =>
    within.getByRole('button', { name });
  const link = (name: string | RegExp, within: Page | Locator = page): Locator => within.getByRole('link', { name });
  const shows = (text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();

  /** Opens the overview as soon as it says this: it may be two seconds behind. */
  const overviewOf = (text: string): Promise<unknown> =>
    until(`the overview says: ${text}`, async () => {
      await page.goto(`${app.url}overview`);
      return page.getByText(text).count();
    });

  it('finds yesterday’s failure by channel and error, sees its attempts and its event, retries it and sees it succeed', async () => {
    const [wanted] = await failing(['Grace'], '410');
    await failing(['Alan'], '422');
    await failing(['Edsger'], '410', 'parcels');
    const [today] = await failing(['Barbara'], '410');
    await database.query(`UPDATE deliveries.deliveries SET created_at = created_at - interval '1 day' WHERE id <> $1`, [
      today,
    ]);

    await overviewOf('letters: 3 deliveries failed');
    await page.getByRole('heading', { name: '2 things need attention' }).waitFor();
    await link('Look at them', page.locator('.notice', { hasText: 'letters: 3 deliveries failed' })).click();
    await page.getByText('Filter', { exact: true }).click();
    expect(await page.getByLabel('Channel').inputValue()).toBe('letters');
    await page.getByLabel('Last error').fill('410');
    await button('Apply').click();
    await page.waitForURL(/error=410/);
    // What was left empty does not stand in the address.
    expect(new URL(page.url()).search).toBe('?status=failed&channel=letters&error=410');
    await page.getByText('Filter', { exact: true }).click();
    await link('yesterday').click();
    await page.waitForURL(/createdBefore/);
    expect(await page.locator('.row-link').allTextContents()).toEqual(['Grace']);

    await link('Grace').click();
    await shows('Attempt 1 failed for good');
    await shows('Recorded, because of letters_written');
    await shows('by ada');
    // Nobody let anna see what is in it.
    await shows('Hidden. Your application decides who may see it (canSeePayload).');
    app.letters.manners.set('Grace', 'ok');
    await button('Retry now').click();
    await page.getByRole('status').filter({ hasText: 'Retried' }).waitFor();
    await ended([wanted!], 'succeeded');
    await lookAgain();
    await shows('anna retried it');
    await shows('Attempt 2 succeeded');
    expect(app.letters.sent.filter(({ id }) => id === wanted).map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  it('sees what blocks an ordered delivery, and cancels the blocker', async () => {
    app.parcels.manners.set('first', '410');
    const ids = await app.record('parcels', [
      { destination: 'first', orderingKey: 'customer 7' },
      { destination: 'second', orderingKey: 'customer 7' },
    ]);
    await ended([ids[0]!], 'failed');

    await page.goto(`${app.url}deliveries?status=pending`);
    await link('second').click();
    await page.locator('.status', { hasText: 'Blocked' }).waitFor();
    await link('Open it').click();
    await shows('It holds back the rest of its key customer 7');
    await link('Cancel…').click();
    await shows(/it is cancelled for good, and the next of its key is sent/);
    await button('Cancel it').click();
    await page.getByRole('status').filter({ hasText: 'Cancelled' }).waitFor();
    await ended([ids[1]!], 'succeeded');
    await page.goto(`${app.url}audit`);
    expect(await page.getByRole('row', { name: /anna Cancelled a delivery/ }).count()).toBe(1);
  });

  it('retries all that match after seeing how many they are, and leaves what differs', async () => {
    const names = Array.from({ length: 60 }, (_, at) => `person ${at}`);
    const ids = await failing(names, '410');
    const [other] = await failing(['somebody else'], '422');
    app.letters.manners.clear();

    await page.goto(`${app.url}deliveries?status=failed&error=410`);
    await link('Retry all…').click();
    await page.locator('.big-count', { hasText: /^60$/ }).waitFor();
    const late = await failing(['late'], '410');
    await button('Retry 60 deliveries').click();
    await page.getByRole('status').filter({ hasText: '60 deliveries retried' }).waitFor();
    await ended(ids, 'succeeded');
    // One has another error; the other came to match after the count.
    expect(await statusesOf([other!, late[0]!])).toEqual(['failed', 'failed']);
    const [events] = await database.query<{ count: number }>(
      `SELECT count(*)::integer AS count FROM deliveries.events WHERE type = 'delivery_retried' AND actor = 'anna'`,
    );
    expect(events).toEqual({ count: 60 });
  });

  it('retries those that were selected, also with Shift, and keeps the selection while the page renews itself', async () => {
    const ids = await failing(['a', 'b', 'c', 'd', 'e']);
    app.letters.manners.clear();
    await page.goto(`${app.url}deliveries?status=failed`);
    expect(await button('Retry', page.locator('.bulk')).first().getAttribute('aria-disabled')).toBe('true');
    const box = (name: string): Locator => page.getByRole('checkbox', { name: `Select letters to ${name}` });
    await box('d').check();
    await box('b').click({ modifiers: ['Shift'] });
    await shows('3 selected:');
    const [newest] = await failing(['f'], '422');
    await lookAgain();
    await page.locator(`[data-key="${newest}"]`).waitFor();
    expect(await page.locator('.row-link').allTextContents()).toEqual(['f', 'e', 'd', 'c', 'b', 'a']);
    await shows('3 selected:');
    await page.getByRole('button', { name: 'Retry', exact: true }).click();
    await page.locator('.big-count', { hasText: /^3$/ }).waitFor();
    await button('Retry 3 deliveries').click();
    await page.getByRole('status').filter({ hasText: '3 deliveries retried' }).waitFor();
    await ended(ids.slice(1, 4), 'succeeded');
    expect(await statusesOf(ids)).toEqual(['failed', 'succeeded', 'succeeded', 'succeeded', 'failed']);
  });

  it('pauses a channel, sees that it waits, and resumes it', async () => {
    await page.goto(`${app.url}overview`);
    await link('Pause letters').click();
    await page.getByLabel('For how long').selectOption({ label: 'Until somebody resumes it' });
    await button('Pause').click();
    await page.getByRole('status').filter({ hasText: 'Paused' }).waitFor();
    await shows('By anna just now, until somebody resumes it');
    const [id] = await app.record('letters', [{ destination: 'Ada' }]);
    await page.goto(`${app.url}deliveries/${id}`);
    await shows('Channel letters is paused');
    expect(app.letters.sent).toEqual([]);
    await link('Resume on the overview').click();
    await button('Resume letters').click();
    await page.getByRole('status').filter({ hasText: 'Resumed' }).waitFor();
    await ended([id!], 'succeeded');
  });

  describe('in a process that sends nothing', () => {
    let other: TestDatabase;
    let idle: DashboardApp;

    beforeAll(async () => {
      other = await createTestDatabase();
      idle = await startDashboardApp(other.url, { deliveries: { run: [], cleanUpInterval: false } });
      await idle.record('letters', [{ destination: 'Ada' }, { destination: 'Grace' }]);
      await idle.record('parcels', [{ destination: 'Alan' }]);
      await other.query(`
        UPDATE deliveries.deliveries
           SET created_at = created_at - interval '20 minutes',
               channel = CASE channel WHEN 'parcels' THEN 'telegrams' ELSE channel END`);
    });

    afterAll(async () => {
      await idle?.close();
      await other?.drop();
    });

    it('says of a channel that nobody works that it is stuck, and of one that nobody declares that it is not known', async () => {
      await page.goto(`${idle.url}overview`);
      await shows('letters: stuck, 2 waiting, the oldest since 20 min');
      await shows('Does a process with workers of this channel run?');
      await shows('telegrams: not known here, 1 waiting');
      expect(await page.locator('.facts').textContent()).toMatch(
        /no workers to wake.*only when it is told to.*Records only/s,
      );
    });

    it('says that notifications do not arrive', async () => {
      // It takes a fiftieth of the time to be sure of it.
      const patience = jest.replaceProperty(listenerPace, 'patience', 100);
      const line = await deafLineTo(other.url);
      const listen = { connection: { connectionString: line.url } };
      const deaf = await startDashboardApp(other.url, { deliveries: { listen, cleanUpInterval: false } });
      try {
        await until('it knows', () => deaf.nest.get(WakeUps).state === 'deaf');
        await page.goto(`${deaf.url}overview`);
        await shows('Notifications do not arrive');
        expect(await page.locator('.facts').textContent()).toMatch(/Deaf/);
      } finally {
        await deaf.close();
        await line.close();
        patience.restore();
      }
    });
  });

  describe('BL-038', () => {
    const retries = async (): Promise<number> =>
      (await database.query(`SELECT FROM deliveries.events WHERE type = 'delivery_retried'`)).length;

    it('a double-click makes one attempt', async () => {
      const [id] = await failing(['Ada']);
      app.letters.manners.clear();
      await page.goto(`${app.url}deliveries/${id}`);
      await button('Retry now').dblclick();
      await page.getByRole('status').filter({ hasText: 'Retried' }).waitFor();
      await ended([id!], 'succeeded');
      expect([app.letters.sent.length, await retries()]).toEqual([2, 1]);
    });

    it('a second retry, from a page that is old or sent by hand, is refused with the state, and changes nothing', async () => {
      const [id] = await failing(['Ada']);
      app.letters.manners.set('Ada', 'silent');
      await page.goto(`${app.url}deliveries/${id}`);
      const token = await page.locator('input[name="token"]').first().inputValue();
      const answers = await Promise.all(
        Array.from({ length: 12 }, () =>
          anna.request.post(`${app.url}deliveries/${id}/retry`, { form: { token }, maxRedirects: 0 }),
        ),
      );
      expect(answers.map((answer) => answer.status()).toSorted((a, b) => a - b)).toEqual([
        303,
        ...Array.from({ length: 11 }, () => 409),
      ]);
      await until('it is under way', () => app.letters.sent.length === 2);
      await button('Retry now').click();
      await page.getByRole('alert').filter({ hasText: 'is pending and being sent: no retry' }).waitFor();
      expect([app.letters.sent.length, await retries()]).toEqual([2, 1]);
    });
  });

  it('BL-037: markup in a payload, a key, a destination, a lane, an event, an actor and a filter is text everywhere', async () => {
    const image = '<img src=x onerror="window.__x=1">';
    const graphic = `"'><svg onload=window.__x=2>`;
    const grace = await operator(`gr${encodeURIComponent(graphic)}`);
    app.parcels.manners.set(image, '410');
    const drafts = [
      { destination: image, payload: { text: `</script><script>window.__x=3</script>${image}` }, orderingKey: graphic },
      { destination: 'javascript:window.__x=4', payload: { text: image }, orderingKey: graphic },
    ];
    const ids = await app.record('parcels', drafts, graphic);
    await ended([ids[0]!], 'failed');
    await app.record('letters', [{ destination: graphic, lane: graphic }], image);
    await app.operations.pause({ channel: 'letters', lane: graphic }, { actor: image });

    const see = await operator('grace');
    page = await browser.page(see);
    const query = new URLSearchParams({ destination: image, orderingKey: graphic, channel: graphic }).toString();
    const visit = async (path: string, text: string): Promise<void> => {
      await page.goto(app.url + path);
      await shows(text);
      const links = await page.evaluate<string[]>(`[...document.links].map(({ protocol }) => protocol)`);
      expect(new Set(links)).toEqual(new Set(['http:']));
      expect(await page.evaluate(`'__x' in globalThis`)).toBe(false);
    };
    await visit('overview', graphic);
    await visit('deliveries', image);
    await visit('deliveries', 'javascript:window.__x=4');
    await visit(`deliveries?${query}`, 'Nothing fits');
    await visit(`deliveries/bulk?operation=cancel&${query}`, image);
    await visit(`deliveries/${ids[0]}`, graphic);
    await shows(/<script>window.__x=3<\/script>/);
    await visit(`deliveries/${ids[1]}`, 'Blocked by an earlier delivery of its key');
    await visit(`deliveries/${ids[0]}/cancel`, graphic);
    await visit(`deliveries?${encodeURIComponent(image)}=1`, image);
    await visit(`deliveries/${encodeURIComponent(image)}`, 'Not there');
    await visit(`pause?channel=${encodeURIComponent(graphic)}`, graphic);
    await visit('audit', image);
    await page.context().close();
    await grace.close();
    page = await browser.page(anna);
  });

  it('does every one of these things without JavaScript', async () => {
    const ids = await failing(['one', 'two', 'three', 'four']);
    app.letters.manners.clear();
    const plain = await operator('anna', { javaScriptEnabled: false });
    page = await browser.page(plain);
    await overviewOf('4 deliveries failed');
    expect(await page.locator('.needs-script:visible').count()).toBe(0);
    await link('Look at them').click();
    await page.getByText('Filter', { exact: true }).click();
    await page.getByLabel('Destination').fill('one');
    await button('Apply').click();
    await page.locator('.row-link', { hasText: 'one' }).click();
    await button('Retry now').click();
    await page.getByRole('status').filter({ hasText: 'Retried' }).waitFor();
    await ended([ids[0]!], 'succeeded');

    await page.goto(`${app.url}deliveries?status=failed`);
    await page.getByRole('checkbox', { name: 'Select letters to two' }).check();
    await page.getByRole('button', { name: 'Cancel', exact: true }).click();
    await button('Cancel 1 delivery').click();
    await page.getByRole('status').filter({ hasText: '1 delivery cancelled' }).waitFor();
    await link('Retry all…').click();
    await button('Retry 2 deliveries').click();
    await page.getByRole('status').filter({ hasText: '2 deliveries retried' }).waitFor();
    await ended(ids.slice(2), 'succeeded');
    expect(await statusesOf([ids[1]!])).toEqual(['cancelled']);

    await page.goto(`${app.url}overview`);
    await link('Pause letters').click();
    await button('Pause').click();
    await button('Resume letters').click();
    await page.getByRole('status').filter({ hasText: 'Resumed' }).waitFor();
    await plain.close();
    page = await browser.page(anna);
  });

  it('does it by keyboard alone', async () => {
    const [id] = await failing(['Ada']);
    app.letters.manners.clear();
    await overviewOf('1 delivery failed');
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await tabTo('Look at them');
    await page.keyboard.press('Enter');
    await page.waitForURL(/status=failed/);
    await tabTo('Ada');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(id!));
    await tabTo('Retry now');
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'Retried' }).waitFor();
    await ended([id!], 'succeeded');
  });

  /** Goes on with Tab until what has the focus says this, and shows that it has it. */
  async function tabTo(text: string): Promise<void> {
    for (let steps = 0; steps < 60; steps += 1) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate<{ text: string; outline: string }>(`({
        text: document.activeElement.textContent.trim(),
        outline: getComputedStyle(document.activeElement).outlineStyle,
      })`);
      if (focused.text !== text) continue;
      expect(focused.outline).toBe('solid');
      return;
    }
    throw new Error(`60 times Tab, and "${text}" never had the focus`);
  }

  describe('renewal', () => {
    it('asks while the page is looked at, not while its tab is hidden, and at once when it is looked at again', async () => {
      await page.clock.install();
      let asked = 0;
      page.on('request', (request) => (asked += request.resourceType() === 'fetch' ? 1 : 0));
      const setHidden = (hidden: boolean): Promise<unknown> =>
        page.evaluate(`
          Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} });
          document.dispatchEvent(new Event('visibilitychange'));`);
      await page.goto(`${app.url}overview`);
      const answer = page.waitForResponse(/overview/);
      await page.clock.runFor(5_100);
      await answer;
      expect(asked).toBe(1);
      await setHidden(true);
      await page.clock.runFor(60_000);
      expect(asked).toBe(1);
      await Promise.all([page.waitForResponse(/overview/), setHidden(false)]);
      expect(asked).toBe(2);
      await button('Live').click();
      await page.clock.runFor(60_000);
      expect(asked).toBe(2);
      await shows('Stopped');
    });

    it('says when it gets no answer, or somebody else’s page, and since when', async () => {
      await page.goto(`${app.url}overview`);
      await page.context().clearCookies();
      await lookAgain();
      await shows(/Not renewed since/);
      await anna.addCookies([{ name: 'operator', value: 'anna', url: app.url }]);
      await lookAgain();
      await page.locator('[data-live-switch][data-state="on"]').waitFor();
      expect(await page.getByText(/Not renewed since/).count()).toBe(0);
    });
  });
});

test('every recipe of the runbook is walked by a test here', () => {
  const recipes = readFileSync(join(__dirname, '../../docs/operate.md'), 'utf8')
    .split('## Recipes')[1]!
    .split('\n## ')[0]!
    .split('\n### ')
    .slice(1);
  const tests = readdirSync(__dirname)
    .filter((name) => name.endsWith('.spec.ts'))
    .map((name) => readFileSync(join(__dirname, name), 'utf8'))
    .join('\n');
  expect(recipes.length).toBeGreaterThan(5);
  const walkers = recipes.map((recipe) => /<!-- walked by: (.+) -->/.exec(recipe)?.[1] ?? `nobody: ${recipe}`);
  expect(walkers.filter((walker) => !tests.includes(`it('${walker}`))).toEqual([]);
});
