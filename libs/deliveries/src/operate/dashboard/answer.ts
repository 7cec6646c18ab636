import type { Page } from './pages/page';

/** What a request is answered with. */
export type Answer =
  | { readonly page: Page; readonly status?: number }
  /** Below the dashboard's own address; asked for with GET, so that a reload repeats nothing. */
  | { readonly goTo: string };
