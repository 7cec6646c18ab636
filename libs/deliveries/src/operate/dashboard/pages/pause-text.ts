import type { PauseView } from '../../pauses/pause-view';
import { timeView } from './words';

/** Who or what holds it back, and since when. @param now ms since 1970 */
export function pauseReason({ reason, actor, since }: PauseView, now: number): string {
  const { text } = timeView(since, now);
  if (reason === 'retry_after') return `The receiver asked for quiet ${text}`;
  return reason === 'operator' ? `By ${actor ?? 'an operator'} ${text}` : `${reason}, ${text}`;
}

/** The same, and until when. */
export function pauseText(pause: PauseView, now: number): string {
  const end = pause.until === null ? 'until somebody resumes it' : `goes on ${timeView(pause.until, now).text}`;
  return `${pauseReason(pause, now)}, ${end}`;
}
