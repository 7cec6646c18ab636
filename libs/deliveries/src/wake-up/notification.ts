import { createHash } from 'node:crypto';
import type { ClaimPath, DueWork } from '../delivery/claim-path';
import { claimPaths } from '../delivery/claim-path';

/** What replicas tell each other: that something is due, or that they can hear themselves. */
export type Notification =
  | { readonly from: string; readonly work: readonly DueWork[] | 'any' }
  | { readonly from: string; readonly probe: number };

/** PostgreSQL refuses payloads of 8,000 bytes and more (its documentation of NOTIFY). */
const longestPayload = 7_900;

/** The channel of LISTEN and NOTIFY for a schema: an identifier, which has 63 bytes at most. */
export function notificationChannel(schema: string): string {
  const name = `deliveries_${schema}`;
  if (Buffer.byteLength(name) <= 63) return name;
  return `deliveries_${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`;
}

/** Says less rather than more than fits: then everybody looks everywhere. */
export function encodeNotification(notification: Notification): string {
  const text = JSON.stringify(notification);
  return Buffer.byteLength(text) <= longestPayload ? text : JSON.stringify({ from: notification.from, work: 'any' });
}

/** Anybody may NOTIFY: what is not a notification of ours wakes everybody, which does no harm. */
export function decodeNotification(payload: string | undefined): Notification {
  const stranger: Notification = { from: '', work: 'any' };
  try {
    const given = JSON.parse(payload ?? '') as Partial<Record<'from' | 'work' | 'probe', unknown>> | null;
    if (typeof given?.from !== 'string') return stranger;
    if (typeof given.probe === 'number') return { from: given.from, probe: given.probe };
    return { from: given.from, work: Array.isArray(given.work) && given.work.every(isDueWork) ? given.work : 'any' };
  } catch {
    return stranger;
  }
}

function isDueWork(value: unknown): value is DueWork {
  const { channel, path, count } = Object(value) as Record<keyof DueWork, unknown>;
  return typeof channel === 'string' && claimPaths.includes(path as ClaimPath) && Number.isInteger(count);
}
