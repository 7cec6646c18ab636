import { Command } from 'nest-commander';
import type { CappedCount } from '../operate/bulk/bulk-view';
import type { PauseView } from '../operate/pauses/pause-view';
import { OperationsCommand } from './operations-command';
import { print, printJson, printTable } from './output';

/** `stats`: how the queue stands. */
@Command({ name: 'stats', description: 'Say how the queue stands, channel by channel.' })
export class StatsCommand extends OperationsCommand {
  protected describe(): void {
    // Nothing to choose.
  }

  protected async perform(_given: string[], options: Record<string, unknown>): Promise<void> {
    const operations = await this.operations();
    const { at, channels } = await this.answer(operations.stats());
    const pauses = await this.answer(operations.pauses());
    if (options.json) return printJson({ at, channels, pauses });
    if (channels.length === 0) return print('There is no channel, and no delivery.\n');
    printTable(
      ['CHANNEL', 'PENDING', 'DUE', 'IN FLIGHT', 'WAITING SINCE', 'FAILED', 'STATE'],
      channels.map((each) => [
        each.channel,
        shown(each.pending),
        each.due,
        each.inFlight,
        each.oldestPendingSince,
        shown(each.failed),
        each.pauses.length > 0 ? 'paused' : each.known ? 'running' : 'not known here',
      ]),
    );
    if (pauses.length === 0) return;
    print('\n');
    printTable(['PAUSED', 'LANE', 'REASON', 'BY', 'SINCE', 'UNTIL'], pauses.map(rowOf));
  }
}

const shown = ({ count, capped }: CappedCount): string => (capped ? `${count}+` : String(count));

export const rowOf = ({ channel, lane, reason, actor, since, until }: PauseView): unknown[] => [
  channel,
  lane,
  reason,
  actor,
  since,
  until ?? 'it is resumed',
];
