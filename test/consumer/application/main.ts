import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { AccountsService } from '../../docs/readme/accounts.service';
import { AppModule } from './app.module';

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule);
  // Not by Nest's hooks, which end the process by themselves: here it ends because nothing is left that keeps it.
  process.once('SIGTERM', () => void app.close());
  await app.listen(0, '127.0.0.1');
  await app.get(AccountsService).create('ada');
  process.send?.({ url: await app.getUrl() });
}

void main();
