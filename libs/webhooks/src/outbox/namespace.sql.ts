/** Opens a namespace for the first time. $1 namespace · $2 control record */
export const insertNamespaceSql = (schema: string): string => `
INSERT INTO ${schema}.webhook_namespaces (namespace, control, created_at) VALUES ($1, $2::jsonb, clock_timestamp())
ON CONFLICT (namespace) DO NOTHING`;

/** $1 namespace */
export const lockNamespaceSql = (schema: string): string =>
  `SELECT control, retained FROM ${schema}.webhook_namespaces WHERE namespace = $1 FOR UPDATE`;

/** $1 namespace · $2 control record under the new primary key */
export const resealSql = (schema: string): string =>
  `UPDATE ${schema}.webhook_namespaces SET control = $2::jsonb WHERE namespace = $1`;

/**
 * Counts one event more, and locks the namespace until the caller's transaction ends: whoever enqueues next sees what this one
 * committed, so that neither the quota nor an event key is decided by two at once. $1 namespace
 */
export const takePlaceSql = (schema: string): string => `
SELECT ${schema}.webhook_take_place($1) AS place, date_part('epoch', clock_timestamp()) * 1000 AS now`;

/** The event turned out to be there already, or was refused. $1 namespace */
export const giveBackPlaceSql = (schema: string): string =>
  `UPDATE ${schema}.webhook_namespaces SET retained = greatest(0, retained - 1) WHERE namespace = $1`;

/**
 * Before an event is refused, what is there is really counted: somebody may have deleted by hand. The one that asks is not there
 * yet. $1 namespace · $2 channel
 */
export const recountSql = (schema: string): string => `
UPDATE ${schema}.webhook_namespaces
   SET retained = (SELECT count(*) FROM ${schema}.deliveries d WHERE d.channel = $2) + 1
 WHERE namespace = $1
RETURNING retained`;

/** Who holds an event key. $1 channel · $2 tag of the key · $3 tag of the content */
export const holderSql = (schema: string): string => `
SELECT d.id, d.dedupe_digest IS NOT DISTINCT FROM $3 AS same FROM ${schema}.deliveries d WHERE d.channel = $1 AND d.dedupe_key = $2`;

/** Whether a delivery is one of the namespace's. $1 id · $2 channel */
export const belongsSql = (schema: string): string =>
  `SELECT FROM ${schema}.deliveries d WHERE d.id = $1 AND d.channel = $2`;

/** What failed, newest first. $1 channel · $2 at most */
export const failedSql = (schema: string): string => `
SELECT d.id, d.payload, d.attempts, d.last_error, d.settled_at
  FROM ${schema}.deliveries d
 WHERE d.channel = $1 AND d.status = 'failed'
 ORDER BY d.created_at DESC, d.id DESC
 LIMIT $2`;

/** Whether an instant is at least one window old, by the database's clock. $1 instant · $2 window in ms */
export const isPastWindowSql = `SELECT $1::timestamptz <= clock_timestamp() - $2::float8 * interval '1 ms' AS past`;

/**
 * Deletes what has ended and was created before an instant; the namespace is locked already. Rows that somebody is at work on are
 * left for the next time. $1 channel · $2 instant · $3 at most · $4 namespace
 */
export const purgeTerminalSql = (schema: string): string => `
WITH past AS MATERIALIZED (
  SELECT d.id
    FROM ${schema}.deliveries d
   WHERE d.channel = $1 AND d.status IN ('succeeded', 'failed', 'cancelled') AND d.created_at < $2::timestamptz
   ORDER BY d.created_at
   LIMIT $3
     FOR UPDATE SKIP LOCKED
), deleted AS (
  DELETE FROM ${schema}.deliveries d WHERE d.id = ANY (ARRAY (SELECT id FROM past)) RETURNING d.id
), counted AS (
  UPDATE ${schema}.webhook_namespaces
     SET retained = greatest(0, retained - (SELECT count(*)::integer FROM deleted))
   WHERE namespace = $4
)
SELECT count(*)::integer AS count FROM deleted`;
