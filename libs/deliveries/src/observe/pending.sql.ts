/**
 * Counts what is pending in a channel, says since when the oldest of it has been (since its creation or the last operator
 * retry), and what is paused. What was scheduled for later counts as pending, but waits for nobody before its time has come.
 *
 * One pass over each of the indexes that hold pending rows, each column in them, so that no row is visited which a vacuum
 * has seen: some 200 ms for a million, and twice that before the vacuum. Through the table it took 800.
 *
 * $1 channel
 */
export const pendingSql = (schema: string): string => `
SELECT count(*)::float8 AS pending, extract(epoch FROM clock_timestamp() - min(since))::float8 AS oldest,
       (SELECT count(*)::float8 FROM ${schema}.delivery_pauses p
         WHERE p.channel = $1 AND p.lane = '' AND (p.until IS NULL OR p.until > now())) AS pauses,
       (SELECT count(DISTINCT p.lane)::float8 FROM ${schema}.delivery_pauses p
         WHERE p.channel = $1 AND p.lane <> '' AND (p.until IS NULL OR p.until > now())) AS lanes
  FROM (
    SELECT ${since} AS since FROM ${schema}.deliveries
     WHERE channel = $1 AND status = 'pending' AND ordering_key IS NULL AND lane = ''
    UNION ALL
    SELECT ${since} FROM ${schema}.deliveries
     WHERE channel = $1 AND status = 'pending' AND ordering_key IS NULL AND lane <> ''
    UNION ALL
    SELECT coalesce(retried_at, created_at) FROM ${schema}.deliveries
     WHERE channel = $1 AND status = 'pending' AND ordering_key IS NOT NULL
  ) waiting`;

// Only an attempt moves due_at away from when the delivery was recorded for, or retried.
const since = `CASE WHEN attempts > 0 THEN coalesce(retried_at, created_at) WHEN due_at <= now() THEN due_at END`;

/**
 * The age of the oldest transaction in this database that may hold vacuum back, prepared ones included. Without the role
 * pg_read_all_stats only those of one's own role are seen.
 */
export const oldestTransactionSql = `
SELECT coalesce(extract(epoch FROM clock_timestamp() - least(
         (SELECT min(xact_start) FROM pg_stat_activity
           WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
             AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)),
         (SELECT min(prepared) FROM pg_prepared_xacts WHERE database = current_database()))), 0)::float8 AS age`;
