/** Milliseconds as a number, or a number with its unit: `500`, `'500ms'`, `'10s'`, `'2m'`, `'1h'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h'}`;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Milliseconds, or undefined for what is no duration. */
export function readDuration(value: unknown): number | undefined {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? value : undefined;
  }
  const [, amount, unit = ''] = (typeof value === 'string' && /^(\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(value)) || [];
  return amount === undefined ? undefined : Number(amount) * (UNITS[unit] ?? Number.NaN);
}
