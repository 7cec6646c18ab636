import type { Facts, StoredDelivery } from './facts';
import type { Arrival } from './receiver';

const heads = ['ACCOUNT', 'PARTNER', 'DELIVERY', 'ATTEMPTS', 'WHAT EACH CAME TO', 'SENT BY', 'SEEN'] as const;

/** The facts as lines of at most 100 columns: what happened to each delivery, and what its receiver saw. */
export function table({ deliveries, arrivals, rolledBack }: Facts): string[] {
  return aligned([
    heads,
    ...deliveries.map((delivery) => rowOf(delivery, arrivals)),
    ...rolledBack.map(
      (handle) => [handle, '-', 'none', '-', 'rolled back, so there never was one', '-', 'never'] as const,
    ),
  ]);
}

function rowOf({ id, handle, partner, status, attempts, errors }: StoredDelivery, arrivals: readonly Arrival[]) {
  const seen = arrivals.filter((each) => each.handle === handle && each.receiver === partner);
  const ids = new Set(seen.map((each) => each.deliveryId)).size;
  return [
    handle,
    partner,
    // The end of a UUID version 7 is random; its beginning is the time, and much the same for all.
    id.slice(-8),
    String(attempts),
    [...errors, ...(status === 'succeeded' ? ['ok'] : [status])].join(', '),
    [...new Set(seen.map((each) => each.replica))].join(', ') || '-',
    seen.length === 1 ? 'once' : `${seen.length}x, ${ids === 1 ? 'one id' : `${ids} ids`}`,
  ] as const;
}

/** @param rows the first has the heads */
export function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join('  ')
      .trimEnd(),
  );
}
