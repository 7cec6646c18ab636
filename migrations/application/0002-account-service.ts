import type { MigrationInterface, QueryRunner } from 'typeorm';

const statements = [
  `ALTER TABLE accounts
  ADD COLUMN status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  ADD COLUMN announcements_by_email boolean NOT NULL DEFAULT true`,

  `CREATE TABLE addresses (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  email text NOT NULL,
  is_primary boolean NOT NULL DEFAULT false,
  verified_at timestamptz,
  replaces uuid REFERENCES addresses ON DELETE SET NULL,
  token_digest bytea,
  link_expires_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT addresses_primary_is_verified CHECK (NOT is_primary OR verified_at IS NOT NULL),
  CONSTRAINT addresses_link_until_verified CHECK ((verified_at IS NULL) = (token_digest IS NOT NULL))
)`,
  `COMMENT ON COLUMN addresses.replaces IS 'The verified address that goes when this one is verified'`,
  `COMMENT ON COLUMN addresses.token_digest IS 'SHA-256 of the token of its link; the token itself is stored nowhere'`,
  // Many may claim an address; one can prove it.
  `CREATE UNIQUE INDEX addresses_proven_once ON addresses (lower(email)) WHERE verified_at IS NOT NULL`,
  `CREATE UNIQUE INDEX addresses_once_for_each_account ON addresses (account_id, lower(email))`,
  `CREATE UNIQUE INDEX addresses_one_primary ON addresses (account_id) WHERE is_primary`,
  `CREATE UNIQUE INDEX addresses_token ON addresses (token_digest)`,
  `CREATE INDEX addresses_replaces ON addresses (replaces) WHERE replaces IS NOT NULL`,

  `CREATE TABLE passkeys (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
  `COMMENT ON TABLE passkeys IS 'Names only: registering and checking passkeys is not what this application shows'`,
  `CREATE INDEX passkeys_account ON passkeys (account_id)`,

  // No foreign key to the address: it may be gone when its link is about to be sent.
  `CREATE TABLE recoveries (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  address_id uuid NOT NULL,
  token_digest bytea NOT NULL UNIQUE,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  used_at timestamptz,
  cancelled_at timestamptz,
  passkey_id uuid REFERENCES passkeys ON DELETE SET NULL,
  undone_at timestamptz
)`,
  `CREATE INDEX recoveries_account ON recoveries (account_id)`,

  `CREATE TABLE announcements (
  id uuid PRIMARY KEY,
  subject text NOT NULL,
  text text NOT NULL,
  essential boolean NOT NULL,
  event_id uuid,
  recipients integer NOT NULL DEFAULT 0,
  emails integer NOT NULL DEFAULT 0,
  sent_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,
  `COMMENT ON COLUMN announcements.emails IS 'Deliveries that it caused: recipients without a verified address, or who want none by email, get none'`,
  `CREATE FUNCTION announcements_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'What was announced is not changed: some have read it already' USING ERRCODE = 'check_violation';
END $$`,
  `CREATE TRIGGER announcements_stay BEFORE UPDATE OF id, subject, text, essential ON announcements
  FOR EACH ROW EXECUTE FUNCTION announcements_stay()`,

  `CREATE TABLE notifications (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id uuid NOT NULL REFERENCES accounts ON DELETE CASCADE,
  kind text NOT NULL,
  data jsonb NOT NULL DEFAULT '{}',
  announcement_id uuid REFERENCES announcements,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  read_at timestamptz,
  CONSTRAINT notifications_announcement CHECK ((kind = 'announcement') = (announcement_id IS NOT NULL))
)`,
  `CREATE INDEX notifications_inbox ON notifications (account_id, created_at DESC)`,
  `CREATE UNIQUE INDEX notifications_recipients ON notifications (announcement_id, account_id) WHERE announcement_id IS NOT NULL`,

  `CREATE TABLE oidc_clients (
  id text PRIMARY KEY,
  name text NOT NULL,
  redirect_uri text NOT NULL,
  backchannel_logout_uri text,
  secret_digest bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`,

  // Without ON DELETE CASCADE: an account whose sessions were not ended first, so that clients hear of it, cannot be deleted.
  `CREATE TABLE sessions (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  account_id uuid NOT NULL REFERENCES accounts,
  token_digest bytea NOT NULL UNIQUE,
  passkey_id uuid REFERENCES passkeys ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL
)`,
  `CREATE INDEX sessions_account ON sessions (account_id)`,

  `CREATE TABLE authorization_codes (
  digest bytea PRIMARY KEY,
  client_id text NOT NULL REFERENCES oidc_clients ON DELETE CASCADE,
  session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
  redirect_uri text NOT NULL,
  expires_at timestamptz NOT NULL,
  redeemed_at timestamptz
)`,
  `CREATE INDEX authorization_codes_session ON authorization_codes (session_id)`,

  `CREATE TABLE oidc_session_clients (
  session_id uuid NOT NULL REFERENCES sessions ON DELETE CASCADE,
  client_id text NOT NULL REFERENCES oidc_clients ON DELETE CASCADE,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (session_id, client_id)
)`,
  `COMMENT ON TABLE oidc_session_clients IS 'Clients that hold tokens from a session. Filled by a trigger, so that no release of the application can forget to'`,
  `CREATE FUNCTION note_session_client() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO oidc_session_clients (session_id, client_id) VALUES (NEW.session_id, NEW.client_id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$`,
  `CREATE TRIGGER note_session_client AFTER UPDATE OF redeemed_at ON authorization_codes
  FOR EACH ROW WHEN (OLD.redeemed_at IS NULL AND NEW.redeemed_at IS NOT NULL) EXECUTE FUNCTION note_session_client()`,
];

export class AccountService1764547300000 implements MigrationInterface {
  readonly name = 'AccountService1764547300000';

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of statements) await runner.query(statement);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'DROP TABLE oidc_session_clients, authorization_codes, sessions, oidc_clients, notifications, announcements, recoveries, passkeys, addresses',
    );
    await runner.query('DROP FUNCTION note_session_client(), announcements_stay()');
    await runner.query('ALTER TABLE accounts DROP COLUMN status, DROP COLUMN announcements_by_email');
  }
}
