import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Composer } from '../../libs/email/src/compose/composer';
import { loadTemplates } from '../../libs/email/src/compose/load-templates';
import { seriousFindings } from '../browser/support/axe';
import { describeInBrowser, TestBrowser } from '../browser/support/browser';
import { from } from './support/kinds';
import { samples } from './support/samples';

jest.setTimeout(180_000);

const folder = join(__dirname, 'renderings');
const widths = [600, 360] as const;
const schemes = ['light', 'dark'] as const;

// What a machine can say of how emails look: nothing serious for axe-core, nothing wider than the screen, nothing that is loaded from
// anywhere. The long run also takes pictures for people to look at.
const isPictured = Boolean(process.env.TEST_LONG);

describeInBrowser('how emails look', () => {
  let browser: TestBrowser;

  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    browser = await TestBrowser.launch();
  });

  afterAll(() => browser?.close());

  it.each(samples)('those of $templates', async ({ templates, kinds, emails }) => {
    const composer = new Composer(loadTemplates(templates, kinds, from.name), from);
    const messages = Object.entries(emails).map(
      ([name, each]) => [name, composer.compose(each, { id: 'x', createdAt: new Date() })] as const,
    );
    const findings: string[] = [];
    for (const width of widths) {
      for (const scheme of schemes) {
        const context = await browser.context({ viewport: { width, height: 740 }, colorScheme: scheme });
        await context.route('**', (route) => {
          findings.push(`${route.request().url()} is loaded`);
          return route.abort();
        });
        const page = await browser.page(context);
        for (const [name, { html, text, subject }] of messages) {
          writeFileSync(join(folder, `${name}.txt`), `Subject: ${subject}\n\n${text}`);
          await page.setContent(html);
          const place = `${name}, ${width}, ${scheme}`;
          const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
          if (overflow > 0) findings.push(`${place}: ${overflow} px wider than the screen`);
          const ground = await page.evaluate<number>(lightness);
          if (ground > 0.5 !== (scheme === 'light')) findings.push(`${place}: its ground has a lightness of ${ground}`);
          findings.push(...(await seriousFindings(page)).map((finding) => `${place}: ${finding}`));
          const path = join(folder, `${name}-${width}-${scheme}.png`);
          if (isPictured) await page.screenshot({ path, fullPage: true });
        }
        await context.close();
      }
    }
    expect(findings).toEqual([]);
    browser.requireContent();
  });
});

/** Of what the words stand on, from 0 (black) to 1. */
const lightness = `(() => {
  const [red, green, blue] = getComputedStyle(document.querySelector('.card')).backgroundColor.match(/\\d+/g).map(Number);
  return Math.round(((red + green + blue) / 765) * 100) / 100;
})()`;
