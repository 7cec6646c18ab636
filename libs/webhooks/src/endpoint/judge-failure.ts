const day = 86_400_000;

/** An endpoint without a success for this long is disabled, in ms since its first failure. */
export const disableAfter = 5 * day;

/** Its owner is warned when it has been failing for so long, in ms. */
export const warnAfter = [1 * day, 3 * day, 4 * day] as const;

/** What a failed attempt means for its endpoint. */
export type Judgement =
  | { readonly do: 'nothing' }
  /** The first failure since the last success. */
  | { readonly do: 'note' }
  /** `warnings`: how many have been due until now. */
  | { readonly do: 'warn'; readonly warnings: number }
  | { readonly do: 'disable' };

/**
 * Days are counted, not failures: a busy endpoint that is down for an hour has more of those than a quiet one that is gone. Pure.
 *
 * @param failingSince the first failure since the last success; null for none
 * @param warnings how many were given since then
 * @param now in ms since 1970
 */
export function judgeFailure(failingSince: Date | null, warnings: number, now: number): Judgement {
  if (failingSince === null) return { do: 'note' };
  const failingFor = now - failingSince.getTime();
  const due = warnAfter.filter((after) => failingFor >= after).length;
  // Nobody is cut off without a word: an endpoint that was quiet for a week is warned first.
  if (failingFor >= disableAfter && warnings > 0) return { do: 'disable' };
  return due > warnings ? { do: 'warn', warnings: due } : { do: 'nothing' };
}
