const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds, or a number and a unit: `500`, `'10s'`, `'1.5h'`, `'7d'`. */
export type Duration = number | `${number}${keyof typeof units}`;

/** Milliseconds, or undefined when `value` is not a duration. Negative and non-finite values are not. */
export function milliseconds(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value !== 'string') return undefined;
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(value);
  return match ? Number(match[1]) * units[match[2] as keyof typeof units] : undefined;
}
