import type { ClientBase, PoolConfig } from 'pg';

/**
 * The settings that every statement of the workers runs with.
 *
 * - READ COMMITTED: the default of a database or a role may be another level, under which a claim fails instead of skipping.
 * - No sequential scans: a plan that a connection made while the table was small reads it from end to end when it has grown,
 *   until the next ANALYZE. The claim of ten heads took 320 ms in the place of 8 with 100,000 rows. Every statement of the
 *   workers has an index.
 * - No hash joins and no merge joins: a plan for any parameters takes a LIMIT for a tenth of what there is, and beside 50,000 waiting
 *   deliveries of a lane it read the whole primary key to claim two of them, 18 ms in the place of 0.5. What a statement joins is a batch
 *   with its rows, which are found one by one.
 * - Plans for any parameters (PostgreSQL 12 and later). Left alone, PostgreSQL takes a plan for a list of one to be cheaper than one
 *   for any list, and makes it anew each time: 1.2 ms of a core for a settle, in the place of 0.4.
 */
export const ownSession = ({ options }: PoolConfig): PoolConfig => ({
  options:
    `${options ?? ''} -c default_transaction_isolation=read\\ committed -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan`.trim(),
});

/**
 * A transaction whose statements are planned with their values, since they are not prepared; the rest as above, also where a
 * pooler gives the session to somebody else afterwards.
 */
export const beginTransaction =
  'BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL enable_seqscan TO off; SET LOCAL enable_hashjoin TO off; ' +
  'SET LOCAL enable_mergejoin TO off; SET LOCAL plan_cache_mode TO auto';

/** The settings did not arrive: a pooler leaves them out (`ignore_startup_parameters` of PgBouncer). */
class SettingsLostError extends Error {}

/** @throws SettingsLostError */
export async function requireOwnSession(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ ours: boolean }>("SELECT current_setting('enable_seqscan') = 'off' AS ours");
  if (!rows[0]?.ours) throw new SettingsLostError('The settings of the session did not arrive.');
}

/**
 * Whether a connection failed as it does behind a pooler: settings at the start of a session are refused (PgBouncer: 08P01,
 * others: 0A000) or left out, and prepared statements are not there when another connection serves the next transaction
 * (26000), or are already (42P05).
 */
export function isFromPooler(error: unknown): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return error instanceof SettingsLostError || ['08P01', '0A000', '26000', '42P05'].includes(String(code));
}
