import { Inject } from '@nestjs/common';
import { Command, CommandRunner, Option } from 'nest-commander';
import { currentVersion, migrationScript } from 'nest-deliveries/migrations';
import { DataSource } from 'typeorm';
import { migrateSchema, schemaStatus } from '../database/schema';
import { DatabaseUnreachableError } from '../errors';
import { commandSchemaToken, commandDataSourceToken } from './command-tokens';
import { exitAfterUsage, exitCodes, reasonOf, reportFailure } from './exit';

interface MigrateOptions {
  readonly status?: true;
  readonly sql?: true;
  readonly from?: number;
}

const afterOptions = `
One process at a time applies what is missing, in one transaction; others wait for it and find nothing left to do. A
killed one leaves nothing half-applied.

Exit codes: 0 done, or up to date; 1 behind (--status), or it failed; 2 wrong usage.`;

/** `migrate`: brings the schema up to date, says where it stands, or prints the script for whoever applies it by hand. */
@Command({ name: 'migrate', description: 'Bring the tables of nest-deliveries up to date.' })
export class MigrateCommand extends CommandRunner {
  constructor(
    @Inject(commandDataSourceToken) private readonly dataSource: DataSource,
    @Inject(commandSchemaToken) private readonly schema: string,
  ) {
    super();
  }

  override setCommand(command: CommandRunner['command']): this {
    command.exitOverride(exitAfterUsage).addHelpText('after', afterOptions);
    return super.setCommand(command);
  }

  @Option({ flags: '--status', description: 'only say where the schema stands; exit code 1 while it is behind' })
  parseStatus(): true {
    return true;
  }

  @Option({
    flags: '--sql',
    description: 'only print the SQL; asks no database. The whole script, or with --from what came after a version',
  })
  parseSql(): true {
    return true;
  }

  @Option({ flags: '--from <version>', description: 'for --sql: the version that --status names' })
  parseFrom(value: string): number {
    const version = Number(value);
    if (/^\d+$/.test(value) && version <= currentVersion) return version;
    return this.refuse(`--from must be a version from 0 to ${currentVersion}; got ${JSON.stringify(value)}`);
  }

  override async run(given: string[], { status, sql, from }: MigrateOptions): Promise<void> {
    if (given.length > 0) this.refuse(`migrate takes no arguments; got ${given.join(' ')}`);
    if (status && sql) this.refuse('--status and --sql exclude each other');
    if (from !== undefined && !sql) this.refuse('--from belongs to --sql');
    try {
      if (sql) return print(migrationScript(this.schema, from) || '-- Nothing is missing.\n');
      await this.connect();
      await (status ? this.printStatus() : this.apply());
    } catch (error) {
      reportFailure(error);
    }
  }

  /** With `manualInitialization` a command line asks for the database only when a command needs it. */
  private async connect(): Promise<void> {
    if (this.dataSource.isInitialized) return;
    await this.dataSource.initialize().catch((error: unknown) => {
      throw new DatabaseUnreachableError(`PostgreSQL cannot be reached: ${reasonOf(error)}`, { cause: error });
    });
  }

  private async apply(): Promise<void> {
    const applied = await migrateSchema(this.dataSource, this.schema);
    if (applied.length === 0) {
      const { applied: version } = await schemaStatus(this.dataSource, this.schema);
      return print(`Schema "${this.schema}" is at version ${version}: nothing to do.\n`);
    }
    for (const step of applied) print(`Applied version ${step.version}: ${step.name}\n`);
    print(`Schema "${this.schema}" is at version ${applied.at(-1)!.version}.\n`);
  }

  private async printStatus(): Promise<void> {
    const { applied, needed } = await schemaStatus(this.dataSource, this.schema);
    const behind = (applied ?? 0) < needed;
    const found = applied === undefined ? 'has no tables of nest-deliveries (version 0)' : `is at version ${applied}`;
    const verdict = behind ? `and version ${needed} is needed: run "deliveries migrate".` : 'which is up to date.';
    print(`Schema "${this.schema}" ${found}, ${verdict}\n`);
    if (behind) process.exitCode = exitCodes.failed;
  }

  private refuse(message: string): never {
    return this.command.error(`error: ${message}`);
  }
}

const print = (text: string): void => void process.stdout.write(text);
