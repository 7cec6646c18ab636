import 'reflect-metadata';
import { startApplication, type Application } from './application';
import { readEnvironment } from './configuration';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres';
import { endInOrder } from './end-in-order';
import { addresses } from './start-page/start-page.controller';

/** Serves the application until SIGINT or SIGTERM. */
async function main(): Promise<void> {
  const { databaseUrl, port, replica } = readEnvironment(process.env);
  let postgres: EmbeddedPostgres | undefined;
  let application: Application | undefined;
  await endInOrder({
    start: async () => {
      if (!databaseUrl) {
        print('Starting PostgreSQL in .data/postgres ...');
        postgres = await startEmbeddedPostgres({ directory: '.data/postgres', database: 'reference' });
      }
      application = await startApplication({ databaseUrl: databaseUrl ?? postgres!.url, replica }, port, [
        'warn',
        'error',
        'fatal',
      ]);
      print(started(application.url, postgres));
    },
    stop: async () => {
      await application?.close();
      await postgres?.stop();
    },
  });
}

function started(url: string, postgres: EmbeddedPostgres | undefined): string {
  const lines = addresses.map(({ path, what }) => `  ${(url + path).padEnd(38)}${what}`);
  if (postgres) {
    lines.push('', 'The database, for psql or for "npm run deliveries -- migrate --status":');
    lines.push(`  DATABASE_URL=${postgres.url}`);
  }
  return ['', 'The application is up. Open:', '', ...lines, '', 'Ctrl-C ends it.'].join('\n');
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
