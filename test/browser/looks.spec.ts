import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { until } from '../faults/support/facts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy';
import { createTestDatabase, type TestDatabase } from '../support/test-database';
import { seriousFindings } from './support/axe';
import { describeInBrowser, TestBrowser } from './support/browser';
import { startDashboardApp, type DashboardApp } from './support/dashboard-app';
import { furnish } from './support/furnish';

jest.setTimeout(180_000);

const folder = join(__dirname, 'screenshots');

const widths = [
  { name: '1280', viewport: { width: 1280, height: 900 } },
  { name: '390', viewport: { width: 390, height: 844 } },
] as const;
const schemes = ['light', 'dark'] as const;

// What a machine can say of how pages look: nothing serious for axe-core, nothing wider than the screen, no complaint in the console.
// The long run also takes a picture of each page for people to look at, which is most of the work.
const isPictured = Boolean(process.env.TEST_LONG);

describeInBrowser('how the pages look', () => {
  let database: TestDatabase;
  let proxy: TcpProxy;
  let app: DashboardApp;
  let browser: TestBrowser;

  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    database = await createTestDatabase();
    const { hostname, port } = new URL(database.url);
    proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    const url = new URL(database.url);
    url.host = `127.0.0.1:${proxy.port}`;
    [app, browser] = await Promise.all([startDashboardApp(url.href, { platform: 'fastify' }), TestBrowser.launch()]);
  });

  afterAll(async () => {
    await browser?.close();
    proxy?.accept();
    await app?.close();
    await proxy?.close();
    await database?.drop();
  });

  afterEach(() => browser.requireContent());

  /** Opens each page in each width and scheme; without pictures, in both widths and both schemes, but not each with each. */
  async function look(state: string, pages: Readonly<Record<string, string>>): Promise<string[]> {
    const findings: string[] = [];
    for (const { name: width, viewport } of widths) {
      for (const scheme of schemes) {
        const isLooked = (width === '1280') === (scheme === 'light');
        if (!isLooked && !isPictured) continue;
        const context = await browser.context({ viewport, colorScheme: scheme, reducedMotion: 'reduce' });
        await context.addCookies([{ name: 'operator', value: 'grace', url: app.url }]);
        const page = await browser.page(context);
        for (const [name, address] of Object.entries(pages)) {
          await page.goto(app.url + address);
          const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
          if (overflow > 0) findings.push(`${name}, ${width}: ${overflow} px wider than the screen`);
          const found = isLooked ? await seriousFindings(page) : [];
          findings.push(...found.map((finding) => `${name}, ${width}, ${scheme}: ${finding}`));
          const path = join(folder, `${name}-${state}-${width}-${scheme}.png`);
          if (isPictured) await page.screenshot({ path, fullPage: true });
        }
        await context.close();
      }
    }
    return findings;
  }

  it('empty', async () => {
    expect(
      await look('empty', {
        overview: 'overview',
        list: 'deliveries',
        filtered: 'deliveries?status=failed&channel=letters',
        audit: 'audit',
        bulk: 'deliveries/bulk?operation=retry&status=failed',
      }),
    ).toEqual([]);
  });

  it('with data, each control within reach of Tab', async () => {
    const { blocked, failed, succeeded } = await furnish(app, database);
    // The pictures of the empty pages have just asked for the chart: what is a moment old is given while it is renewed.
    await until('the chart has what was furnished', async () => {
      const { channels } = await app.operations.throughput({ window: '1h' });
      return channels.some((channel) => channel.succeeded.some((count) => count > 0));
    });
    expect(
      await look('data', {
        overview: 'overview',
        week: 'overview?window=7d',
        list: 'deliveries',
        filtered: 'deliveries?status=failed&channel=letters&newerThan=7d',
        blocked: `deliveries/${blocked}`,
        failed: `deliveries/${failed}?done=retried`,
        succeeded: `deliveries/${succeeded}`,
        audit: 'audit',
        bulk: 'deliveries/bulk?operation=retry&status=failed&channel=letters',
        cancel: `deliveries/${blocked}/cancel`,
        pause: 'pause?channel=letters',
      }),
    ).toEqual([]);
  });

  it.each([
    'overview',
    'deliveries?status=failed',
    'audit',
    'deliveries/bulk?operation=retry&status=failed',
    'pause?channel=letters',
  ])('everything on %s can be reached with Tab, and is seen to be reached', async (path) => {
    const context = await browser.context();
    await context.addCookies([{ name: 'operator', value: 'grace', url: app.url }]);
    const page = await browser.page(context);
    await page.goto(app.url + path);
    expect(await unreached(page)).toEqual([]);
    await context.close();
  });

  it('without a database', async () => {
    proxy.refuse();
    proxy.cut();
    await until('the database is out of reach', () =>
      app.operations.pauses().then(
        () => false,
        () => true,
      ),
    );
    expect(await look('error', { overview: 'overview', list: 'deliveries' })).toEqual([]);
    const context: BrowserContext = await browser.context();
    await context.addCookies([{ name: 'operator', value: 'grace', url: app.url }]);
    const page = await browser.page(context);
    const answer = await page.goto(`${app.url}overview?window=6h`);
    expect(answer?.status()).toBe(503);
    await page.getByRole('heading', { name: 'No answer from the database' }).waitFor();
    proxy.accept();
    await until('the database is back', () =>
      app.operations.pauses().then(
        () => true,
        () => false,
      ),
    );
    await page.getByRole('link', { name: 'Try again' }).click();
    await page.getByRole('heading', { name: 'Throughput' }).waitFor();
    expect(page.url()).toBe(`${app.url}overview?window=6h`);
  });
});

/** What can be used on a page and never got the focus, or got it unseen. */
async function unreached(page: Page): Promise<string[]> {
  const usable = await page.evaluate<number>(`(() => {
    const selector = 'a[href], button, input:not([type=hidden]), select, summary, [tabindex="0"]';
    window.usable = [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
    window.reached = new Set();
    window.unseen = [];
    document.addEventListener('focusin', ({ target }) => {
      window.reached.add(target);
      if (getComputedStyle(target).outlineStyle === 'none') window.unseen.push(target.outerHTML);
    });
    return window.usable.length;
  })()`);
  // A field for a time takes several steps.
  for (let step = 0; step < usable + 20; step += 1) await page.keyboard.press('Tab');
  return page.evaluate<string[]>(
    `[...window.unseen, ...window.usable.filter((each) => !window.reached.has(each)).map((each) => each.outerHTML)]`,
  );
}
