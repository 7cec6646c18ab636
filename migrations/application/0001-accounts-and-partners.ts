import type { MigrationInterface, QueryRunner } from 'typeorm';

export class AccountsAndPartners1764460900000 implements MigrationInterface {
  readonly name = 'AccountsAndPartners1764460900000';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
CREATE TABLE accounts (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  handle text NOT NULL CONSTRAINT accounts_handle_taken UNIQUE,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`);
    await runner.query(`
CREATE TABLE partners (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  name text NOT NULL CONSTRAINT partners_name_taken UNIQUE,
  endpoint text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE partners');
    await runner.query('DROP TABLE accounts');
  }
}
