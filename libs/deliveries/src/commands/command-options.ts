import type { CommandRunner } from 'nest-commander';
import { userInfo } from 'node:os';
import { deliveryStatuses } from '../delivery/status';
import { InvalidRequestError } from '../errors';
import { instantIn } from '../operate/check-request';
import type { DeliveryConditions } from '../operate/match/conditions';

type Command = CommandRunner['command'];
type Given = Readonly<Record<string, unknown>>;

const conditionOptions: readonly [flags: string, description: string, choices?: readonly string[]][] = [
  ['--status <status>', 'in this state', deliveryStatuses],
  ['--channel <name>', 'of this channel'],
  ['--lane <lane>', 'of this lane'],
  ['--ordering-key <key>', 'with this ordering key'],
  ['--destination <text>', 'to this destination'],
  ['--error <kind>', 'whose last error was of this kind, such as 503 or timeout'],
  ['--older-than <duration>', 'created at least this long ago, such as 90s, 10m, 1h or 7d'],
  ['--newer-than <duration>', 'created at most this long ago'],
  ['--created-after <instant>', 'created at this instant or later, such as 2026-03-01T08:30:00Z'],
  ['--created-before <instant>', 'created before this instant'],
];

/** Adds the options that say which deliveries are meant. */
export function addConditions(command: Command): void {
  for (const [flags, description, choices] of conditionOptions) {
    const option = command.createOption(flags, description);
    command.addOption(choices ? option.choices(choices) : option);
  }
}

/** @throws InvalidRequestError for an instant that is none; the operations check the rest */
export function readConditions(given: Given): DeliveryConditions {
  const names = conditionOptions.map(([flags]) => attributeOf(flags));
  const entries = names.filter((name) => given[name] !== undefined).map((name) => [name, given[name]] as const);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, name.startsWith('created') ? instantOf(name, value) : value]),
  );
}

const attributeOf = (flags: string): string =>
  flags.slice(2, flags.indexOf(' ')).replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());

/** @throws InvalidRequestError */
export function instantOf(name: string, value: unknown): Date {
  const at = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(String(value))
    ? instantIn(String(value))
    : undefined;
  if (at) return at;
  throw new InvalidRequestError(name, 'must be a date, or an instant such as 2026-03-01T08:30:00Z');
}

/** @throws InvalidRequestError */
export function wholeNumber(name: string, value: unknown, most: number): number {
  const number = /^\d{1,9}$/.test(String(value)) ? Number(value) : 0;
  if (number >= 1 && number <= most) return number;
  throw new InvalidRequestError(name, `must be a whole number from 1 to ${most}`);
}

export const actorOption = [
  '--actor <name>',
  'who does this, for the audit trail; default: the user of this shell',
] as const;

/** Who does this: `--actor`, or the operating system's user. */
export function actorOf({ actor }: Given): string {
  return typeof actor === 'string' ? actor : systemUser();
}

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user id may have no name.
    return process.env.USER || `user id ${process.getuid?.() ?? 'unknown'}`;
  }
}
