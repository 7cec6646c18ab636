import type { Page } from '../pages/page';
import type { Assets } from './assets';

const entries = [
  { nav: 'overview', href: 'overview', label: 'Overview' },
  { nav: 'deliveries', href: 'deliveries', label: 'All deliveries' },
  { nav: 'audit', href: 'audit', label: 'Audit' },
] as const;

/** What stands around every page. */
export const frameOf = (page: Page, assets: Assets, { root, token }: { root: string; token: string }) => ({
  title: page.title,
  root,
  token,
  assets: assets.names,
  nav: entries.map(({ nav, href, label }) => ({ href, label, current: nav === page.nav })),
  live: page.live ?? false,
  notice: page.notice,
});
