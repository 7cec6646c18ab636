import type { MigrationStep } from '../deliveries/step';

/** Namespaces of outgoing webhooks, tenants' endpoints, and what was received. Their messages are deliveries like all others. */
export const webhooksStep: MigrationStep = {
  version: 2,
  name: 'DeliveriesCreateWebhooks1764547200000',
  up: (schema) => [
    `CREATE TABLE ${schema}.webhook_namespaces (
  namespace text COLLATE "C" PRIMARY KEY,
  control jsonb NOT NULL,
  retained integer NOT NULL DEFAULT 0 CHECK (retained >= 0),
  created_at timestamptz NOT NULL
)`,
    `COMMENT ON COLUMN ${schema}.webhook_namespaces.control IS 'Sealed: destination, keys, mode, quota and window with which the namespace was opened first'`,
    `COMMENT ON COLUMN ${schema}.webhook_namespaces.retained IS 'Events that are retained, ended ones included: what the quota is compared with. Its lock makes that exact'`,

    // A function for its own lock_timeout: a transaction of the host that waits too long for another one gets an answer, and not an
    // error, after which it could do nothing but roll back.
    `CREATE FUNCTION ${schema}.webhook_take_place(wanted text) RETURNS integer LANGUAGE plpgsql SET lock_timeout = '10s' AS $$
DECLARE
  taken integer;
BEGIN
  UPDATE ${schema}.webhook_namespaces SET retained = retained + 1 WHERE namespace = wanted RETURNING retained INTO taken;
  RETURN taken;
EXCEPTION WHEN lock_not_available THEN
  RETURN -1;
END $$`,
    `COMMENT ON FUNCTION ${schema}.webhook_take_place IS 'Counts one event more and locks the namespace until the transaction ends. Returns how many there are then; -1 when another transaction held it for ten seconds, null when there is no such namespace'`,

    `CREATE TABLE ${schema}.webhook_endpoints (
  id uuid PRIMARY KEY,
  tenant text COLLATE "C" NOT NULL,
  kinds text[] NOT NULL,
  schemes text[] NOT NULL,
  sealed jsonb NOT NULL,
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  disabled_reason text CHECK (disabled_reason IN ('operator', 'gone', 'failing')),
  disabled_at timestamptz,
  failing_since timestamptz,
  warnings integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  CHECK ((status = 'disabled') = (disabled_reason IS NOT NULL AND disabled_at IS NOT NULL))
)`,
    `COMMENT ON COLUMN ${schema}.webhook_endpoints.sealed IS 'Its URL and its secrets'`,
    `COMMENT ON COLUMN ${schema}.webhook_endpoints.failing_since IS 'The first failure since the last success; null after a success'`,
    `COMMENT ON COLUMN ${schema}.webhook_endpoints.warnings IS 'Warning events since the last success'`,
    `CREATE INDEX webhook_endpoints_tenant_idx ON ${schema}.webhook_endpoints (tenant, id)`,
    `COMMENT ON INDEX ${schema}.webhook_endpoints_tenant_idx IS 'Serves fan-out and list: the endpoints of a tenant'`,

    `CREATE TABLE ${schema}.webhook_receipts (
  source text COLLATE "C" NOT NULL,
  message_id text COLLATE "C" NOT NULL,
  forget_at timestamptz NOT NULL,
  PRIMARY KEY (source, message_id)
)`,
    `COMMENT ON TABLE ${schema}.webhook_receipts IS 'Messages that were received and handled: each is handled once. Kept for longer than a signature is fresh'`,
    `CREATE INDEX webhook_receipts_forget_idx ON ${schema}.webhook_receipts (forget_at)`,
    `COMMENT ON INDEX ${schema}.webhook_receipts_forget_idx IS 'Serves the removal of what is too old to be accepted again'`,
  ],
};
