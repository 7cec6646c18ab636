const columns = `e.id, e.tenant, e.kinds, e.schemes, e.sealed, e.status, e.disabled_reason, e.disabled_at, e.failing_since, e.warnings,
       e.created_at`;

/** $1 id · $2 tenant · $3 kinds · $4 schemes · $5 sealed URL and secrets */
export const insertEndpointSql = (schema: string): string => `
INSERT INTO ${schema}.webhook_endpoints AS e (id, tenant, kinds, schemes, sealed, created_at)
VALUES ($1, $2, $3::text[], $4::text[], $5::jsonb, clock_timestamp())
RETURNING ${columns}`;

/** $1 tenant · $2 after this id · $3 at most */
export const listEndpointsSql = (schema: string): string => `
SELECT ${columns} FROM ${schema}.webhook_endpoints e WHERE e.tenant = $1 AND e.id > $2 ORDER BY e.id LIMIT $3`;

/** One of a tenant's, locked until the transaction ends. $1 id · $2 tenant */
export const lockEndpointSql = (schema: string): string => `
SELECT ${columns}, date_part('epoch', clock_timestamp()) * 1000 AS now
  FROM ${schema}.webhook_endpoints e WHERE e.id = $1 AND e.tenant = $2 FOR UPDATE`;

/** For a send. $1 id */
export const readEndpointSql = (schema: string): string => `
SELECT ${columns}, date_part('epoch', clock_timestamp()) * 1000 AS now FROM ${schema}.webhook_endpoints e WHERE e.id = $1`;

/** $1 id · $2 kinds · $3 sealed */
export const updateEndpointSql = (schema: string): string =>
  `UPDATE ${schema}.webhook_endpoints SET kinds = $2::text[], sealed = $3::jsonb WHERE id = $1`;

/** $1 id · $2 reason */
export const disableEndpointSql = (schema: string): string => `
UPDATE ${schema}.webhook_endpoints
   SET status = 'disabled', disabled_reason = $2, disabled_at = clock_timestamp()
 WHERE id = $1 AND status = 'enabled'`;

/** With a clean slate: what it failed at before counts no more. $1 id */
export const enableEndpointSql = (schema: string): string => `
UPDATE ${schema}.webhook_endpoints
   SET status = 'enabled', disabled_reason = NULL, disabled_at = NULL, failing_since = NULL, warnings = 0
 WHERE id = $1`;

/** $1 id */
export const deleteEndpointSql = (schema: string): string => `DELETE FROM ${schema}.webhook_endpoints WHERE id = $1`;

/** Who is told of a kind of event. $1 tenant · $2 kind */
export const subscribedSql = (schema: string): string => `
SELECT e.id FROM ${schema}.webhook_endpoints e
 WHERE e.tenant = $1 AND (e.kinds @> ARRAY[$2::text] OR e.kinds @> ARRAY['*'::text])
 ORDER BY e.id`;

/** A success ends a run of failures. $1 id */
export const recoveredSql = (schema: string): string =>
  `UPDATE ${schema}.webhook_endpoints SET failing_since = NULL, warnings = 0 WHERE id = $1 AND failing_since IS NOT NULL`;

/** The first failure of a run. $1 id */
export const failingSql = (schema: string): string => `
UPDATE ${schema}.webhook_endpoints SET failing_since = clock_timestamp()
 WHERE id = $1 AND status = 'enabled' AND failing_since IS NULL`;

/** Of several processes that want to warn, one does. $1 id · $2 warnings until now, this one included */
export const warnedSql = (schema: string): string => `
UPDATE ${schema}.webhook_endpoints SET warnings = $2
 WHERE id = $1 AND status = 'enabled' AND failing_since IS NOT NULL AND warnings < $2`;
