import { Client } from 'pg';

/** Databases that are prepared once and copied for each run, so that each begins with the same pages and statistics. */
export class Databases {
  private readonly prepared = new Map<string, string>();

  constructor(readonly adminUrl: string) {}

  /** @param key what makes the prepared database different from others */
  async copyOf(key: string, prepare: (url: string) => Promise<void>): Promise<string> {
    let template = this.prepared.get(key);
    if (template === undefined) {
      template = `bench_template_${this.prepared.size}`;
      await this.make(template, 'template1');
      await prepare(this.urlOf(template));
      this.prepared.set(key, template);
    }
    await this.make('bench_run', template);
    return this.urlOf('bench_run');
  }

  async dropAll(): Promise<void> {
    await this.asAdmin(
      ['bench_run', ...this.prepared.values()].map((name) => `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
    );
    this.prepared.clear();
  }

  private async make(name: string, template: string): Promise<void> {
    await this.asAdmin([
      `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`,
      // Files and not WAL records, and no dirty pages afterwards: what the copy costs is not measured.
      `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`,
      'CHECKPOINT',
    ]);
  }

  private async asAdmin(statements: readonly string[]): Promise<void> {
    const client = new Client({ connectionString: this.adminUrl });
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  }

  private urlOf(name: string): string {
    const url = new URL(this.adminUrl);
    url.pathname = `/${name}`;
    return url.toString();
  }
}
