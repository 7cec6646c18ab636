import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { Measurement } from '../part';

/** A page or a call that an operator makes. */
export interface Visit {
  readonly name: string;
  readonly path: string;
  /**
   * Its answer is kept for a moment, and so it is asked for less often: as an open page asks, which is given the last answer while
   * the next one is made, or for the first time in a while.
   */
  readonly kept?: 'open page' | 'first look';
}

export const visits: readonly Visit[] = [
  { name: 'overview', path: 'overview', kept: 'open page' },
  { name: 'overview, 7 days', path: 'overview?window=7d', kept: 'open page' },
  { name: 'overview, first look', path: 'overview', kept: 'first look' },
  { name: 'list', path: 'deliveries' },
  { name: 'list, failed', path: 'deliveries?status=failed' },
  { name: 'list, pending', path: 'deliveries?status=pending' },
  { name: 'list, channel and error', path: 'deliveries?status=failed&channel=webhooks&error=503' },
  { name: 'list, destination', path: 'deliveries?status=failed&destination=customer%207' },
  { name: 'list, key', path: 'deliveries?orderingKey=key%2010' },
  { name: 'list, yesterday', path: 'deliveries?status=failed&olderThan=1d&newerThan=2d' },
  { name: 'detail', path: 'deliveries/{failed}' },
  { name: 'audit', path: 'audit' },
  { name: 'audit of an operator', path: 'audit?actor=operator%207' },
  { name: 'confirm a bulk retry', path: 'deliveries/bulk?operation=retry&status=failed&error=503' },
  { name: 'api: list, failed', path: 'api/deliveries?status=failed&limit=100' },
  { name: 'api: count, failed', path: 'api/count?status=failed' },
  { name: 'api: stats', path: 'api/stats', kept: 'open page' },
];

/** In ms: longer than an answer is fresh, and longer than it is given at all. */
export const waits = { 'open page': 2_100, 'first look': 10_100 } as const;

/** @returns how long it took, in ms */
export async function visit(url: string): Promise<number> {
  const began = performance.now();
  const { statusCode, body } = await request(url);
  await body.text();
  if (statusCode !== 200) throw new Error(`${url} answered ${statusCode}`);
  return performance.now() - began;
}

/** The id of a failed delivery. @param dashboard its address */
export async function someFailed(dashboard: string): Promise<string> {
  const { body } = await request(`${dashboard}api/deliveries?status=failed&limit=1`);
  const { deliveries } = (await body.json()) as { deliveries: { id: string }[] };
  return deliveries[0]!.id;
}

/** What 95 of 100 visits took at most. */
export function p95(what: string, contender: string, times: readonly number[]): Measurement {
  const sorted = times.toSorted((a, b) => a - b);
  const value = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN;
  const spread = { least: sorted[0] ?? Number.NaN, most: sorted.at(-1) ?? Number.NaN };
  return { what, contender, figure: 'p95', unit: 'ms', median: value, ...spread, each: times };
}

/** An operator's open tabs: each asks again every five seconds, as its script does. @returns how to close them */
export function openTabs(urls: readonly string[]): () => Promise<void> {
  const closing = new AbortController();
  const tabs = urls.map(async (url) => {
    while (!closing.signal.aborted) {
      await visit(url);
      await sleep(5_000, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  });
  return async () => {
    closing.abort();
    await Promise.all(tabs);
  };
}
