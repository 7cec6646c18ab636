import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core';

/** `describe`, or `describe.skip` with its reason where no Chromium can run. */
export function describeInBrowser(name: string, tests: () => void): void {
  const { TEST_CHROMIUM: path, TEST_CHROMIUM_MISSING: reason } = process.env;
  if (path) return describe(name, tests);
  process.stderr.write(`\nSKIPPED, no Chromium: ${name}\n${reason}. Name one in TEST_CHROMIUM to run these tests.\n\n`);
  describe.skip(`${name} (no Chromium: ${reason})`, tests);
}

/** A Chromium for one spec file. Every page that it opened is asked, at the end, whether anything went wrong on it. */
export class TestBrowser {
  private readonly complaints: string[] = [];

  private constructor(private readonly browser: Browser) {}

  static async launch(): Promise<TestBrowser> {
    // The arguments that the package recommends switch the same-origin policy off, which is among what is tested here.
    const args = ['--no-sandbox', '--disable-gpu'];
    return new TestBrowser(await chromium.launch({ executablePath: process.env.TEST_CHROMIUM, args }));
  }

  /** A browser of its own for an operator: own cookies, own tabs. */
  async context(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    context.setDefaultTimeout(20_000);
    return context;
  }

  async page(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.on('pageerror', (error) => this.complaints.push(`${page.url()}: ${error.message}`));
    page.on('console', (message) => {
      // An answer that is an error is what some tests are after.
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
        this.complaints.push(`${page.url()}: ${message.text()}`);
      }
    });
    return page;
  }

  /** @throws what pages complained of since it was asked last: errors of scripts, and what their policy kept from running */
  requireContent(): void {
    const said = this.complaints.splice(0);
    if (said.length > 0) throw new Error(`The browser's console says:\n${said.join('\n')}`);
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}
