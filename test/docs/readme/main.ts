import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AccountsService } from './accounts.service';
import { AppModule } from './app.module';

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule);
  // SIGTERM lets what is being sent end, and the process with exit code 0.
  app.enableShutdownHooks(undefined, { useProcessExit: true });
  await app.listen(process.env.PORT ?? 3000);
  await app.get(AccountsService).create('ada');
}

void main();
