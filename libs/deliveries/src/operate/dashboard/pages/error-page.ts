import type { Page } from './page';

/** Why a page is not shown. */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly text: string;
  /** Asking again may help. */
  readonly again: boolean;
}

/** @param retryHref where to ask again, if that can be done with a link */
export const errorPage = ({ status, title, text, again }: Problem, retryHref: string | undefined): Page => ({
  template: 'error',
  title,
  model: { status, title, text, retryHref: again ? retryHref : undefined },
});
