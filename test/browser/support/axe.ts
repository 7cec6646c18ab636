import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';

const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** What axe-core finds serious or worse on a page, in words. */
export async function seriousFindings(page: Page): Promise<string[]> {
  // `evaluate` is not bound by the page's policy, which lets no foreign script in.
  await page.evaluate(axe);
  const violations = await page.evaluate<Violation[]>(
    `axe.run({ resultTypes: ['violations'] }).then((found) => found.violations)`,
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)}\n${failureSummary}`),
    );
}
