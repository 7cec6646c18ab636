import 'reflect-metadata';
import { startApplication, type Application } from './application';
import { readEnvironment } from './configuration';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres';
import { endInOrder } from './end-in-order';
import { machineSecrets } from './machine-secrets';
import { addresses } from './start-page/start-page.controller';

/** Serves the application until SIGINT or SIGTERM. */
async function main(): Promise<void> {
  const { databaseUrl, port, secrets, ...environment } = readEnvironment(process.env);
  const { operatorToken } = environment;
  let postgres: EmbeddedPostgres | undefined;
  let application: Application | undefined;
  await endInOrder({
    start: async () => {
      if (!databaseUrl) {
        print('Starting PostgreSQL in .data/postgres ...');
        postgres = await startEmbeddedPostgres({ directory: '.data/postgres', database: 'reference' });
      }
      const configuration = {
        ...environment,
        databaseUrl: databaseUrl ?? postgres!.url,
        secrets: secrets ?? machineSecrets(),
      };
      application = await startApplication(configuration, port, ['warn', 'error', 'fatal']);
      print(started(application.url, postgres, process.env.OPERATOR_TOKEN ? undefined : operatorToken));
    },
    stop: async () => {
      await application?.close();
      await postgres?.stop();
    },
  });
}

/** @param newToken for operators, when the environment has none */
function started(url: string, postgres: EmbeddedPostgres | undefined, newToken: string | undefined): string {
  const width = Math.max(...addresses.map(({ path }) => (url + path).length)) + 2;
  const lines = addresses.map(({ path, what }) => `  ${(url + path).padEnd(width)}${what}`);
  if (newToken)
    lines.push('', `Operators log in with their name, and ${newToken} as password (OPERATOR_TOKEN sets it).`);
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
