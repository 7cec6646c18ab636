import type { CappedCount } from '../../bulk/bulk-view';

/** An instant as pages show it: how far away, and exactly when. */
export interface TimeView {
  readonly iso: string;
  /** In UTC, to the second: what is shown on hover. */
  readonly exact: string;
  readonly text: string;
}

const units = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const;

/** A length of time in its two largest units, such as `2 h 5 min`; below ten seconds with a tenth, below one in ms. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`;
  // To whole seconds first, so that what is rounded up carries over: never `60 s`.
  const rounded = Math.round(ms / 1_000) * 1_000;
  const at = units.findIndex(([size]) => rounded >= size);
  const [size, name] = units[at]!;
  const whole = Math.floor(rounded / size);
  const next = units[at + 1];
  const rest = next ? Math.floor((rounded % size) / next[0]) : 0;
  return next && rest > 0 && whole < 10 ? `${whole} ${name} ${rest} ${next[1]}` : `${whole} ${name}`;
}

/** How long ago, or how far ahead, in one unit. */
function distanceText(ms: number): string {
  const away = Math.abs(ms);
  if (away < 1_500) return ms < 0 ? 'just now' : 'now';
  const [size, name] = units.find(([length]) => away >= length) ?? units[3];
  const text = `${Math.floor(away / size)} ${name}`;
  return ms < 0 ? `${text} ago` : `in ${text}`;
}

export const exactText = (at: Date): string => `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** @param now ms since 1970 */
export const timeView = (at: Date, now: number): TimeView => ({
  iso: at.toISOString(),
  exact: exactText(at),
  text: distanceText(at.getTime() - now),
});

export const numberText = (value: number): string => value.toLocaleString('en-GB');

export const cappedText = ({ count, capped }: CappedCount): string => `${numberText(count)}${capped ? '+' : ''}`;

/** `1 delivery`, `2 deliveries`. */
export const deliveriesText = (count: CappedCount): string =>
  `${cappedText(count)} ${count.count === 1 && !count.capped ? 'delivery' : 'deliveries'}`;

/** A share in percent. What is not quite all is never shown as 100 %, what is not quite nothing never as 0 %. */
export function percentText(part: number, whole: number): string {
  if (whole === 0) return '–';
  if (part === whole) return '100 %';
  return `${Math.min(99.9, Math.max(part === 0 ? 0 : 0.1, (part / whole) * 100)).toFixed(1)} %`;
}
