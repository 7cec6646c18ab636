import type { ChannelSettings, RetentionSettings, RetrySettings } from './channel/channel.decorator';
import { endings, manual, type Retention } from './clean-up/retention';
import { milliseconds } from './delivery/duration';
import { DeliveriesOptionsError } from './errors';
import { count, duration, flag, fraction, refused, refuseUnknown } from './option-rules';

/** The settings that a channel, and `channels.<name>`, can have. */
export const channelSettingNames = [
  'maxAge',
  'workers',
  'concurrency',
  'sendTimeout',
  'lease',
  'maxAttempts',
  'retry',
  'retention',
  'revivesCancelled',
  'lane',
] as const;

/** What holds for a channel, durations in ms. */
export interface ChannelDefaults {
  readonly workers: number;
  readonly concurrency: number;
  readonly sendTimeout: number;
  readonly lease: number;
  readonly maxAttempts: number | undefined;
  readonly retry: { readonly first: number; readonly max: number };
  readonly retention: Retention;
  readonly revivesCancelled: boolean;
  readonly lane: { readonly share: number };
}

/** Settings of a channel over their defaults, checked. */
export function channelSettings(
  subject: string,
  given: Omit<ChannelSettings, 'maxAge'>,
  defaults: ChannelDefaults,
): ChannelDefaults {
  refuseUnknown(`${subject}: retry`, given.retry ?? {}, ['first', 'max']);
  refuseUnknown(`${subject}: lane`, given.lane ?? {}, ['share']);
  requireBoundsInOrder(subject, given.retry ?? {});
  return {
    workers: count(subject, 'workers', given.workers ?? defaults.workers, 0, 100),
    concurrency: count(subject, 'concurrency', given.concurrency ?? defaults.concurrency, 1, 10_000),
    sendTimeout: duration(subject, 'sendTimeout', given.sendTimeout ?? defaults.sendTimeout, 1, 86_400_000),
    lease: duration(subject, 'lease', given.lease ?? defaults.lease, 1, 86_400_000),
    maxAttempts:
      given.maxAttempts === undefined
        ? defaults.maxAttempts
        : count(subject, 'maxAttempts', given.maxAttempts, 1, 1_000_000),
    retry: {
      first: duration(subject, 'retry.first', given.retry?.first ?? defaults.retry.first, 1, 86_400_000),
      max: duration(subject, 'retry.max', given.retry?.max ?? defaults.retry.max, 1, 30 * 86_400_000),
    },
    retention: retentionSettings(subject, given.retention ?? {}, defaults.retention),
    revivesCancelled: flag(subject, 'revivesCancelled', given.revivesCancelled ?? defaults.revivesCancelled),
    lane: { share: fraction(subject, 'lane.share', given.lane?.share ?? defaults.lane.share) },
  };
}

/** Where only one of the two is said, the other is a default that has to give way. */
function requireBoundsInOrder(subject: string, { first, max }: RetrySettings): void {
  const [least, most] = [milliseconds(first), milliseconds(max)];
  if (least === undefined || most === undefined || least <= most) return;
  const rule = `must be at most retry.max (${most} ms), which the wait never exceeds`;
  throw refused(subject, 'retry.first', rule, first, 'Lower it, or raise retry.max');
}

function retentionSettings(subject: string, given: RetentionSettings, defaults: Retention): Retention {
  if (given === manual) return { succeeded: manual, failed: manual, cancelled: manual };
  refuseUnknown(`${subject}: retention`, given, endings);
  const of = (ending: (typeof endings)[number]): number | typeof manual => {
    const value = given[ending] ?? defaults[ending];
    return value === manual ? manual : duration(subject, `retention.${ending}`, value, 0, 3_650 * 86_400_000);
  };
  return { succeeded: of('succeeded'), failed: of('failed'), cancelled: of('cancelled') };
}

/** @throws DeliveriesOptionsError when a claim could end while its attempt, or the write of its outcome, is under way */
export function requireLeaseOverTimeout(subject: string, { lease, sendTimeout }: ChannelDefaults): void {
  if (lease >= sendTimeout + 5_000) return;
  throw new DeliveriesOptionsError(
    `${subject}: lease must be at least sendTimeout and 5 seconds (${sendTimeout + 5_000} ms), so that an outcome is written while ` +
      `the claim still holds; got ${lease} ms. Raise lease or lower sendTimeout.`,
  );
}
