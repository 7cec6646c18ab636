import type { NoticeView } from './page';
import { numberText } from './words';

/** What can have been done before a page is shown. The address names one of these; words never come from an address. */
const done = {
  retried: { title: 'Retried', text: 'It is due now.' },
  cancelled: { title: 'Cancelled', text: undefined },
  paused: { title: 'Paused', text: 'What is being sent goes on; nothing more is claimed.' },
  resumed: { title: 'Resumed', text: 'Workers take up what waited.' },
  'not-paused': { title: 'It was not paused', text: 'Nothing was changed.' },
} as const;

/** For what an address says was done; undefined for everything else. */
export function doneNotice(query: URLSearchParams): NoticeView | undefined {
  const word = query.get('done') ?? '';
  const changed = wholeNumber(query.get('changed'));
  if (changed !== undefined && (word === 'retried' || word === 'cancelled')) return bulkNotice(word, changed, query);
  if (!Object.hasOwn(done, word)) return undefined;
  const { title, text } = done[word as keyof typeof done];
  return { tone: 'good', icon: 'succeeded', role: 'status', title, text };
}

function bulkNotice(word: string, changed: number, query: URLSearchParams): NoticeView {
  const busy = wholeNumber(query.get('busy')) ?? 0;
  return {
    tone: changed > 0 ? 'good' : 'warn',
    icon: changed > 0 ? 'succeeded' : 'info',
    role: 'status',
    title: `${numberText(changed)} ${changed === 1 ? 'delivery' : 'deliveries'} ${word}`,
    text: busy > 0 ? `${numberText(busy)} were held by somebody else and left alone: do it again.` : undefined,
  };
}

const wholeNumber = (text: string | null): number | undefined =>
  text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined;

/** For what was refused, beside the page that it was asked on. */
export const refusalNotice = (title: string, text: string): NoticeView => ({
  tone: 'bad',
  icon: 'failed',
  role: 'alert',
  title,
  text,
});

export const doneKeys = ['done', 'changed', 'busy'] as const;
