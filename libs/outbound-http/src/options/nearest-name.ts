/** The known name closest to what was given: one that begins with it, else the one with the fewest typing mistakes. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const lower = given.toLowerCase();
  const ranked = known
    .map((name) => ({ name, mistakes: name.toLowerCase().startsWith(lower) ? 0 : distance(lower, name.toLowerCase()) }))
    .toSorted((a, b) => a.mistakes - b.mistakes);
  return ranked[0]?.name;
}

/** Levenshtein distance, one row at a time. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replace = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replace, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
