import type { Figures } from '../../part';
import { fill } from '../contender';
import type { Setting } from './setting';

/** Records in calls of 1,000, from the first call to the last commit. */
export async function bulk({ contender, url }: Setting, count: number): Promise<Figures> {
  const lists = await contender.lists(url);
  // A connection that was used once: code and plans are warm in a process that serves requests.
  await fill(lists, 2_000);
  const began = performance.now();
  await fill(lists, count);
  const seconds = (performance.now() - began) / 1_000;
  await lists.close();
  return { rate: count / seconds };
}
