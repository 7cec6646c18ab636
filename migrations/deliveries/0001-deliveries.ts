import type { MigrationStep } from './step';

/**
 * The queue: one table whose rows are claimed, sent and settled in place, with half of each page left free, so that the
 * two updates of a delivery's life find room beside it (measured against a split queue table, partitions and a full
 * page: the simplest, and within a tenth of the fastest).
 */
export const deliveriesStep: MigrationStep = {
  version: 1,
  name: 'DeliveriesCreateQueue1764460800000',
  up: (schema) => [
    `CREATE TABLE ${schema}.events (
  id uuid PRIMARY KEY,
  type text NOT NULL,
  payload jsonb NOT NULL,
  actor text,
  delivery_id uuid,
  occurred_at timestamptz NOT NULL
)`,
    `COMMENT ON TABLE ${schema}.events IS 'What happened: the causes of deliveries and the operators'' audit trail'`,

    // No foreign key to events: it would look up and lock the event's row once for each delivery of a fan-out.
    `CREATE TABLE ${schema}.deliveries (
  id uuid PRIMARY KEY,
  event_id uuid NOT NULL,
  channel text NOT NULL,
  destination text NOT NULL,
  recipient jsonb,
  payload jsonb NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'succeeded', 'failed', 'cancelled')),
  ordering_key text COLLATE "C",
  ordinal bigint,
  lane text,
  dedupe_key text,
  dedupe_digest text,
  attempts integer NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  attempts_at_retry integer NOT NULL DEFAULT 0,
  crashes integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL,
  claim_token uuid,
  lease_expires_at timestamptz,
  last_error text CHECK (last_error ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$'),
  created_at timestamptz NOT NULL,
  retried_at timestamptz,
  settled_at timestamptz,
  deadline timestamptz,
  CHECK ((ordering_key IS NULL) = (ordinal IS NULL)),
  CHECK (claim_token IS NULL OR (status = 'pending' AND lease_expires_at IS NOT NULL))
) WITH (fillfactor = 50)`,
    `COMMENT ON COLUMN ${schema}.deliveries.due_at IS 'When a claim may take it; while it is claimed, the end of the lease'`,
    `COMMENT ON COLUMN ${schema}.deliveries.attempts_at_retry IS 'Attempts made before the last operator retry: backoff and maxAttempts count from here'`,
    `COMMENT ON COLUMN ${schema}.deliveries.crashes IS 'Claims that took over an expired lease: attempts whose worker vanished'`,

    `CREATE INDEX deliveries_due_idx ON ${schema}.deliveries (channel, due_at) WHERE status = 'pending' AND ordering_key IS NULL`,
    `COMMENT ON INDEX ${schema}.deliveries_due_idx IS 'Serves the claim of unordered deliveries, longest due first, and the gauges of what is pending'`,

    `CREATE INDEX deliveries_unfinished_idx ON ${schema}.deliveries (channel, ordering_key, ordinal)
  WHERE ordering_key IS NOT NULL AND (status IN ('pending', 'failed') OR lease_expires_at IS NOT NULL)`,
    `COMMENT ON INDEX ${schema}.deliveries_unfinished_idx IS 'Serves the claim of heads, the successor that a settle claims, who blocks whom, and abandonment: the first of a key in it is the head that holds the key'`,

    `CREATE UNIQUE INDEX deliveries_one_claim_idx ON ${schema}.deliveries (channel, ordering_key)
  WHERE ordering_key IS NOT NULL AND claim_token IS NOT NULL`,
    `COMMENT ON INDEX ${schema}.deliveries_one_claim_idx IS 'Serves nobody; makes two claims of one key impossible whatever a statement says'`,

    `CREATE UNIQUE INDEX deliveries_dedupe_idx ON ${schema}.deliveries (channel, dedupe_key) WHERE dedupe_key IS NOT NULL`,
    `COMMENT ON INDEX ${schema}.deliveries_dedupe_idx IS 'Serves record: one retained delivery for each dedupe key of a channel'`,

    // Half-free pages: every ordered record updates its key's row in place.
    `CREATE TABLE ${schema}.delivery_orderings (
  channel text NOT NULL,
  ordering_key text COLLATE "C" NOT NULL,
  last_ordinal bigint NOT NULL,
  last_taken integer NOT NULL,
  last_recorded_at timestamptz NOT NULL,
  PRIMARY KEY (channel, ordering_key)
) WITH (fillfactor = 50)`,
    `COMMENT ON TABLE ${schema}.delivery_orderings IS 'One row for each ordering key; its lock, held until the commit, makes ordinals follow the order of commits'`,
    `COMMENT ON COLUMN ${schema}.delivery_orderings.last_taken IS 'How many ordinals the last record took: carries the number into the conflict branch of its upsert'`,

    `CREATE TABLE ${schema}.delivery_attempts (
  delivery_id uuid NOT NULL REFERENCES ${schema}.deliveries (id) ON DELETE CASCADE,
  number integer NOT NULL,
  started_at timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('retried', 'failed', 'skipped', 'crashed')),
  error text NOT NULL CHECK (error ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$'),
  PRIMARY KEY (delivery_id, number)
)`,
    `COMMENT ON TABLE ${schema}.delivery_attempts IS 'Attempts that did not simply succeed; the primary key serves the timeline of one delivery'`,
  ],
};
