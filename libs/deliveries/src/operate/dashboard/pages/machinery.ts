import type { StatusView } from './status-view';
import { durationText, timeView } from './words';

/** What this process knows of its own machinery. */
export interface MachineryFacts {
  /** How workers learn of new deliveries: `deaf` when notifications do not arrive and polling serves. */
  readonly wakeUps: 'off' | 'connecting' | 'listening' | 'deaf';
  /** Undefined: this process cleans up only when it is told to. In ms. */
  readonly cleanUpInterval: number | undefined;
  /** When a clean-up of this process last went through; undefined before the first. */
  readonly cleanedUpAt: Date | undefined;
  /** Since when no clean-up of this process has ended, well or because another process was cleaning up; in ms. */
  readonly cleanUpIdleFor: number;
  /** Channels that this process sends. */
  readonly sends: readonly string[];
}

export interface Machinery {
  readonly wakeUps: MachineryFacts['wakeUps'];
  readonly cleanUp: { readonly state: 'ran' | 'soon' | 'late' | 'off'; readonly text: string };
  readonly rows: readonly { readonly label: string; readonly state: StatusView; readonly text: string }[];
}

const good = (label: string): StatusView => ({ name: 'succeeded', label });
const idle = (label: string): StatusView => ({ name: 'waiting', label });
const odd = (label: string): StatusView => ({ name: 'retrying', label });

/** @param now ms since 1970 */
export function machineryView(facts: MachineryFacts, now: number): Machinery {
  const cleanUp = cleanUpView(facts, now);
  const cleanUpState = { ran: good('Runs'), soon: idle('Not yet'), late: odd('Late'), off: idle('Off') }[cleanUp.state];
  const sends = facts.sends.length;
  return {
    wakeUps: facts.wakeUps,
    cleanUp,
    rows: [
      { label: 'Wake-ups', ...(facts.wakeUps === 'off' && sends === 0 ? nothingToWake : wakeUpsView[facts.wakeUps]) },
      { label: 'Clean-up', state: cleanUpState, text: cleanUp.text },
      {
        label: 'This process',
        state: sends > 0 ? good('Sends') : idle('Records only'),
        text:
          sends > 0
            ? facts.sends.slice(0, 12).join(', ') + (sends > 12 ? ` and ${sends - 12} more` : '')
            : 'Others send.',
      },
    ],
  };
}

const nothingToWake = { state: idle('Off'), text: 'This process has no workers to wake.' };

const wakeUpsView = {
  listening: { state: good('Listening'), text: 'New deliveries are sent without waiting for a poll.' },
  connecting: { state: odd('Connecting'), text: 'Polling serves until the connection for notifications is up.' },
  deaf: { state: odd('Deaf'), text: 'Notifications do not arrive; polling serves.' },
  off: { state: idle('Off'), text: 'Polling serves; the option listen is off.' },
} as const;

/** Late is what met nothing but errors for three intervals. */
function cleanUpView(
  { cleanUpInterval, cleanedUpAt, cleanUpIdleFor }: MachineryFacts,
  now: number,
): Machinery['cleanUp'] {
  if (cleanUpInterval === undefined) return { state: 'off', text: 'This process cleans up only when it is told to.' };
  const text = `${
    cleanedUpAt ? `Last went through ${timeView(cleanedUpAt, now).text}` : 'Not since this process started'
  }; every ${durationText(cleanUpInterval)}.`;
  if (cleanUpIdleFor > 3 * cleanUpInterval) return { state: 'late', text };
  return { state: cleanedUpAt ? 'ran' : 'soon', text };
}
