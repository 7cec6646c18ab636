import { Command, type CommandRunner } from 'nest-commander';
import { milliseconds } from '../delivery/duration';
import { InvalidRequestError } from '../errors';
import { actorOf, actorOption, instantOf } from './command-options';
import { OperationsCommand } from './operations-command';
import { print, printJson } from './output';

const targetOf = ([channel]: string[], { lane }: Record<string, unknown>): { channel: string; lane?: string } =>
  lane === undefined ? { channel: channel! } : { channel: channel!, lane: lane as string };

/** `pause`: has workers leave a channel, or a lane of it, alone. */
@Command({
  name: 'pause',
  arguments: '<channel>',
  description: 'Have workers leave a channel, or a lane of it, alone.',
})
export class PauseCommand extends OperationsCommand {
  protected describe(command: CommandRunner['command']): void {
    command.option('--lane <lane>', 'only this lane');
    command.option('--until <instant>', 'goes on then by itself, such as 2026-03-01T08:30:00Z');
    command.option('--for <duration>', 'goes on by itself after this long, such as 30m');
    command.option(...actorOption);
  }

  protected async perform(given: string[], options: Record<string, unknown>): Promise<void> {
    const end = endOf(options);
    const operations = await this.operations();
    const paused = await this.answer(operations.pause(targetOf(given, options), { actor: actorOf(options), ...end }));
    if (options.json) printJson(paused);
    else print(`Paused until ${paused.until?.toISOString() ?? 'it is resumed'}.\n`);
  }
}

/** `resume`: takes pauses back. */
@Command({ name: 'resume', arguments: '<channel>', description: 'Let a paused channel, or a lane of it, go on.' })
export class ResumeCommand extends OperationsCommand {
  protected describe(command: CommandRunner['command']): void {
    command.option('--lane <lane>', 'only this lane');
    command.option(...actorOption);
  }

  protected async perform(given: string[], options: Record<string, unknown>): Promise<void> {
    const operations = await this.operations();
    const resumed = await this.answer(operations.resume(targetOf(given, options), { actor: actorOf(options) }));
    if (options.json) printJson(resumed);
    else print(resumed.length === 0 ? 'It was not paused.\n' : 'It goes on.\n');
  }
}

function endOf(options: Record<string, unknown>): { until?: Date; for?: number } {
  if (options.until !== undefined) {
    if (options.for !== undefined) throw new InvalidRequestError('for', 'and --until exclude each other');
    return { until: instantOf('until', options.until) };
  }
  if (options.for === undefined) return {};
  const ms = milliseconds(options.for);
  if (ms !== undefined && ms > 0) return { for: ms };
  throw new InvalidRequestError('for', 'must be a duration such as 90s, 30m, 1h or 7d');
}
