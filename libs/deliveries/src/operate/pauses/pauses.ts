import { closest } from 'fastest-levenshtein';
import type { DataSource } from 'typeorm';
import { v7 as uuidv7 } from 'uuid';
import type { ChannelRegistry } from '../../channel/channel-registry';
import { InvalidRequestError } from '../../errors';
import { actorOf, optionalDuration, optionalInstant, optionalText, refuseUnknownKeys } from '../check-request';
import type { Reader } from '../reader';
import type { PauseOptions, PauseTarget, PauseView } from './pause-view';
import { hasDeliveriesSql, pauseSql, pausesSql, resumeSql } from './pauses.sql';

const mostMs = 3_650 * 86_400_000;

interface PauseRow extends Omit<PauseView, 'lane'> {
  readonly lane: string;
}

const viewOf = (row: PauseRow): PauseView => ({ ...row, lane: row.lane || null });

/** What operators hold back, and let go on. */
export class Pauses {
  private readonly texts: Record<'pauses' | 'pause' | 'resume' | 'hasDeliveries', string>;

  constructor(
    private readonly dataSource: DataSource,
    private readonly channels: ChannelRegistry,
    private readonly reader: Reader,
    private readonly onDue: (channel: string) => void,
    schema: string,
  ) {
    this.texts = {
      pauses: pausesSql(schema),
      pause: pauseSql(schema),
      resume: resumeSql(schema),
      hasDeliveries: hasDeliveriesSql(schema),
    };
  }

  async all(): Promise<PauseView[]> {
    return (await this.reader.rows<PauseRow>(this.texts.pauses)).map(viewOf);
  }

  async pause(target: PauseTarget, options: PauseOptions): Promise<PauseView> {
    const { channel, lane } = checkTarget(target);
    const actor = actorOf(options);
    const { until, length } = endOf(options);
    await this.requireChannel(channel);
    const [row] = await this.change(this.texts.pause, [channel, lane, actor, until, length, uuidv7()]);
    if (!row) throw new InvalidRequestError('until', 'must lie ahead');
    return viewOf(row);
  }

  async resume(target: PauseTarget, options: { actor: string }): Promise<PauseView[]> {
    const { channel, lane } = checkTarget(target);
    const actor = actorOf(options);
    const rows = await this.change(this.texts.resume, [channel, lane, actor, uuidv7()]);
    this.onDue(channel);
    return rows.map(viewOf);
  }

  private change(text: string, values: unknown[]): Promise<PauseRow[]> {
    return this.dataSource.transaction('READ COMMITTED', (tx) => tx.query<PauseRow[]>(text, values));
  }

  /** A slip of the pen would hold nothing back, and nobody would notice. */
  private async requireChannel(channel: string): Promise<void> {
    const known = this.channels.all().map(({ name }) => name);
    if (known.includes(channel)) return;
    const [row] = await this.reader.rows<{ found: boolean }>(this.texts.hasDeliveries, [channel]);
    if (row!.found) return;
    const nearest = known.length > 0 ? `; the nearest is "${closest(channel, known)}"` : '';
    throw new InvalidRequestError('channel', `must be a channel of this application, or have deliveries${nearest}`);
  }
}

function endOf(options: PauseOptions): { until: Date | null; length: number | null } {
  const until = optionalInstant(options.until, 'until');
  const length = optionalDuration(options.for, 'for');
  if (until !== null && length !== null) throw new InvalidRequestError('for', 'and until exclude each other');
  if (length !== null && (length === 0 || length > mostMs)) {
    throw new InvalidRequestError('for', 'must be longer than nothing, and ten years at most');
  }
  return { until, length };
}

function checkTarget(target: PauseTarget): { channel: string; lane: string } {
  refuseUnknownKeys(target, ['channel', 'lane']);
  const channel = optionalText(target.channel, 'channel');
  if (channel === null || channel === '') throw new InvalidRequestError('channel', 'must name a channel');
  const lane = optionalText(target.lane, 'lane');
  if (lane === '') throw new InvalidRequestError('lane', 'must not be empty; leave it out for the whole channel');
  return { channel, lane: lane ?? '' };
}
