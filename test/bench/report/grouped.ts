/** The rows of each group, in the order in which the groups first appear. `Map.groupBy` needs Node 21. */
export function grouped<Row>(rows: readonly Row[], groupOf: (row: Row) => string): [string, Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(groupOf(row));
    if (group) group.push(row);
    else groups.set(groupOf(row), [row]);
  }
  return [...groups];
}
