import type { MigrationStep } from './step';

/**
 * Storage of the tables whose rows are updated in place.
 *
 * - Half of each page stays free, so that the two updates of a row's life find room beside it.
 * - Vacuum by the number of dead rows, and hardly by the size of the table: with the defaults, a fifth of a million finished
 *   rows would have to die first, and every claim would step over their entries in the index. A delivery dies twice in its
 *   life, at the claim and at the settle.
 * - No pause in a vacuum: the tables are small, and a vacuum that takes its time is overtaken by what dies meanwhile.
 * - Statistics by the number of changes as well: what is due now is a part of the table that no old statistics know.
 */
const busyTable = [
  'fillfactor = 50',
  'autovacuum_vacuum_threshold = 10000',
  'autovacuum_vacuum_scale_factor = 0.01',
  'autovacuum_vacuum_cost_delay = 0',
  'autovacuum_analyze_threshold = 10000',
  'autovacuum_analyze_scale_factor = 0.02',
].join(', ');

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
  delivery_ids uuid[] NOT NULL DEFAULT '{}',
  audit boolean NOT NULL DEFAULT false,
  occurred_at timestamptz NOT NULL
)`,
    `COMMENT ON TABLE ${schema}.events IS 'What happened: the causes of deliveries and the operators'' audit trail'`,
    `COMMENT ON COLUMN ${schema}.events.delivery_id IS 'What an operator, or the abandonment of a key, did something to: set in audit events only'`,
    `COMMENT ON COLUMN ${schema}.events.delivery_ids IS 'The deliveries that it caused: clean-up asks by primary key whether one of them is left, since an index on deliveries (event_id) would be written at each claim and settle'`,

    `COMMENT ON COLUMN ${schema}.events.audit IS 'What an operator or clean-up did, to a delivery, a channel or a lane: kept for longer than what the application recorded'`,

    `CREATE INDEX events_audit_idx ON ${schema}.events (delivery_id, occurred_at) WHERE delivery_id IS NOT NULL`,
    `COMMENT ON INDEX ${schema}.events_audit_idx IS 'Serves show: what operators did to a delivery, and whether its key was abandoned'`,
    `CREATE INDEX events_audit_age_idx ON ${schema}.events (occurred_at, id) WHERE audit`,
    `COMMENT ON INDEX ${schema}.events_audit_age_idx IS 'Serves the audit trail, newest first, and clean-up: audit events past their retention'`,
    `CREATE INDEX events_idle_idx ON ${schema}.events (occurred_at) WHERE delivery_ids = '{}' AND NOT audit`,
    `COMMENT ON INDEX ${schema}.events_idle_idx IS 'Serves clean-up: events that never caused a delivery'`,

    // Names are compared byte by byte: in the order of a language each comparison would cost more, and the order of an index change with
    // the server's libraries. Wherever they are joined they are declared alike.
    // No foreign key to events: it would look up and lock the event's row once for each delivery of a fan-out.
    `CREATE TABLE ${schema}.deliveries (
  id uuid PRIMARY KEY,
  event_id uuid NOT NULL,
  channel text COLLATE "C" NOT NULL,
  destination text NOT NULL,
  recipient jsonb,
  payload jsonb NOT NULL,
  status text COLLATE "C" NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'succeeded', 'failed', 'cancelled')),
  ordering_key text COLLATE "C",
  ordinal bigint,
  lane text COLLATE "C" NOT NULL DEFAULT '',
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
) WITH (${busyTable})`,
    `COMMENT ON COLUMN ${schema}.deliveries.lane IS 'Whom it competes for slots with, such as an endpoint''s id; empty for nobody'`,
    `COMMENT ON COLUMN ${schema}.deliveries.due_at IS 'When a claim may take it; while it is claimed, the end of the lease'`,
    `COMMENT ON COLUMN ${schema}.deliveries.attempts_at_retry IS 'Attempts made before the last operator retry: backoff and maxAttempts count from here'`,
    `COMMENT ON COLUMN ${schema}.deliveries.crashes IS 'Claims that took over an expired lease: attempts whose worker vanished'`,

    // What these three include is for the gauges: a million pending rows are counted, and the oldest of them found, without a visit
    // to the table, in some 200 ms in the place of 800. It costs 2.5 % more WAL for each delivery.
    `CREATE INDEX deliveries_due_idx ON ${schema}.deliveries (channel, due_at)
  INCLUDE (created_at, retried_at, attempts)
  WHERE status = 'pending' AND ordering_key IS NULL AND lane = ''`,
    `COMMENT ON INDEX ${schema}.deliveries_due_idx IS 'Serves the claim of unordered deliveries without a lane, longest due first, and the gauges of what is pending'`,

    // Beside the one above and not in its place: a claim by lanes costs more, and a row pays for one of the two only.
    `CREATE INDEX deliveries_lanes_idx ON ${schema}.deliveries (channel, lane, due_at)
  INCLUDE (created_at, retried_at, attempts)
  WHERE status = 'pending' AND ordering_key IS NULL AND lane <> ''`,
    `COMMENT ON INDEX ${schema}.deliveries_lanes_idx IS 'Serves the claim of unordered deliveries lane by lane, longest due first in each, and the gauges of what is pending'`,

    `CREATE INDEX deliveries_unfinished_idx ON ${schema}.deliveries (channel, ordering_key, ordinal)
  INCLUDE (status, created_at, retried_at)
  WHERE ordering_key IS NOT NULL AND (status IN ('pending', 'failed') OR lease_expires_at IS NOT NULL)`,
    `COMMENT ON INDEX ${schema}.deliveries_unfinished_idx IS 'Serves the claim of heads, the successor that a settle claims, who blocks whom, abandonment, and the gauges of what is pending: the first of a key in it is the head that holds the key'`,

    `CREATE UNIQUE INDEX deliveries_one_claim_idx ON ${schema}.deliveries (channel, ordering_key)
  WHERE ordering_key IS NOT NULL AND claim_token IS NOT NULL`,
    `COMMENT ON INDEX ${schema}.deliveries_one_claim_idx IS 'Serves nobody; makes two claims of one key impossible whatever a statement says'`,

    `CREATE UNIQUE INDEX deliveries_dedupe_idx ON ${schema}.deliveries (channel, dedupe_key) WHERE dedupe_key IS NOT NULL`,
    `COMMENT ON INDEX ${schema}.deliveries_dedupe_idx IS 'Serves record: one retained delivery for each dedupe key of a channel'`,

    // Without the pending ones: with them, each insert and each claim wrote an entry, a quarter of what a claim cost. What is pending
    // is found where claims find it. By status and channel, so that three that failed are found among a million that are done.
    `CREATE INDEX deliveries_listed_idx ON ${schema}.deliveries (status, channel, created_at, id) WHERE status <> 'pending'`,
    `COMMENT ON INDEX ${schema}.deliveries_listed_idx IS 'Serves list, count and bulk operations: the deliveries of a channel that ended in a status, by age; and the overview: how many failed'`,

    // Deliveries that have never had an error are in none of these.
    `CREATE INDEX deliveries_erred_idx ON ${schema}.deliveries (status, channel, last_error, created_at, id) WHERE last_error IS NOT NULL`,
    `COMMENT ON INDEX ${schema}.deliveries_erred_idx IS 'Serves list, count and bulk operations by kind of error'`,
    `CREATE INDEX deliveries_failed_to_idx ON ${schema}.deliveries (channel, destination, created_at, id) WHERE status = 'failed'`,
    `COMMENT ON INDEX ${schema}.deliveries_failed_to_idx IS 'Serves list, count and bulk operations on what failed, by destination'`,
    `CREATE INDEX deliveries_failed_in_idx ON ${schema}.deliveries (channel, lane, created_at, id) WHERE status = 'failed' AND lane <> ''`,
    `COMMENT ON INDEX ${schema}.deliveries_failed_in_idx IS 'Serves list, count and bulk operations on what failed, by lane'`,

    `CREATE INDEX deliveries_settled_idx ON ${schema}.deliveries (channel, status, settled_at) WHERE settled_at IS NOT NULL`,
    `COMMENT ON INDEX ${schema}.deliveries_settled_idx IS 'Serves clean-up: what ended longer ago than it is kept, and which keys to abandon; and the chart of what ended when'`,

    `CREATE INDEX deliveries_recipient_idx ON ${schema}.deliveries USING gin (recipient jsonb_path_ops) WHERE recipient IS NOT NULL`,
    `COMMENT ON INDEX ${schema}.deliveries_recipient_idx IS 'Serves purge: the deliveries that are for one person'`,

    // Half-free pages: every ordered record updates its key's row in place.
    `CREATE TABLE ${schema}.delivery_orderings (
  channel text COLLATE "C" NOT NULL,
  ordering_key text COLLATE "C" NOT NULL,
  last_ordinal bigint NOT NULL,
  last_taken integer NOT NULL,
  last_recorded_at timestamptz NOT NULL,
  PRIMARY KEY (channel, ordering_key)
) WITH (${busyTable})`,
    `COMMENT ON TABLE ${schema}.delivery_orderings IS 'One row for each ordering key; its lock, held until the commit, makes ordinals follow the order of commits'`,
    `COMMENT ON COLUMN ${schema}.delivery_orderings.last_taken IS 'How many ordinals the last record took: carries the number into the conflict branch of its upsert'`,

    `CREATE TABLE ${schema}.delivery_attempts (
  delivery_id uuid NOT NULL REFERENCES ${schema}.deliveries (id) ON DELETE CASCADE,
  number integer NOT NULL,
  started_at timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('retried', 'failed', 'skipped', 'crashed', 'cancelled')),
  error text NOT NULL CHECK (error ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$'),
  PRIMARY KEY (delivery_id, number)
)`,
    `COMMENT ON TABLE ${schema}.delivery_attempts IS 'Attempts that did not simply succeed; the primary key serves the timeline of one delivery'`,

    `CREATE TABLE ${schema}.delivery_pauses (
  channel text COLLATE "C" NOT NULL,
  lane text COLLATE "C" NOT NULL DEFAULT '',
  reason text NOT NULL CHECK (reason ~ '^[a-z][a-z0-9_]{0,63}$'),
  actor text,
  since timestamptz NOT NULL,
  until timestamptz,
  PRIMARY KEY (channel, lane, reason)
)`,
    `COMMENT ON TABLE ${schema}.delivery_pauses IS 'What claims leave alone: a channel (empty lane) or one of its lanes, until a time or until somebody resumes it'`,
    `COMMENT ON COLUMN ${schema}.delivery_pauses.reason IS 'operator, retry_after, or a channel''s own word; a part of the key, so that each pauses and resumes without touching the others'`,

    `CREATE TABLE ${schema}.delivery_removals (
  event_id uuid NOT NULL,
  removed_at timestamptz NOT NULL
)`,
    `COMMENT ON TABLE ${schema}.delivery_removals IS 'When deliveries of an event were deleted: the event goes 30 days after the last of them. Rows are only inserted, so that no two transactions that delete deliveries of one event wait for each other'`,
    `CREATE INDEX delivery_removals_age_idx ON ${schema}.delivery_removals (removed_at)`,
    `COMMENT ON INDEX ${schema}.delivery_removals_age_idx IS 'Serves clean-up: events that lost a delivery longer ago than events are kept'`,
    `CREATE INDEX delivery_removals_event_idx ON ${schema}.delivery_removals (event_id, removed_at)`,
    `COMMENT ON INDEX ${schema}.delivery_removals_event_idx IS 'Serves clean-up: whether an event lost another delivery since'`,

    // A trigger, and not a part of each statement that deletes: operators of a channel whose retention is manual delete by hand.
    `CREATE FUNCTION ${schema}.note_removals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ${schema}.delivery_removals (event_id, removed_at)
  SELECT DISTINCT event_id, clock_timestamp() FROM removed;
  RETURN NULL;
END $$`,
    `CREATE TRIGGER note_removals AFTER DELETE ON ${schema}.deliveries
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION ${schema}.note_removals()`,
  ],
};
