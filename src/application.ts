import type { INestApplication, LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { AppModule } from './app.module';
import type { Configuration } from './configuration';

/** A served application. */
export interface Application {
  readonly nest: INestApplication;
  /** Where it is reached from this machine, without a trailing slash. */
  readonly url: string;
  /** Ends it in order: sends in flight get the shut-down grace. */
  close(): Promise<void>;
}

/** @param port 0 for any free one */
export async function startApplication(
  configuration: Configuration,
  port: number,
  logger: LogLevel[] = ['log', 'warn', 'error', 'fatal'],
): Promise<Application> {
  const nest = await NestFactory.create(AppModule.forRoot(configuration), {
    logger,
    // Webhooks are verified over the bytes that came.
    rawBody: true,
    // Otherwise a failed start ends the process before the embedded PostgreSQL is stopped.
    abortOnError: false,
    // Requests have the shut-down grace to end; a client that keeps one open longer must not keep us.
    forceCloseConnections: true,
  });
  try {
    const document = new DocumentBuilder().setTitle('nest-deliveries: the reference application').build();
    SwaggerModule.setup('api', nest, SwaggerModule.createDocument(nest, document));
    await nest.listen(port);
  } catch (error) {
    await nest.close();
    throw error;
  }
  const address = nest.getHttpServer().address() as { port: number };
  return { nest, url: `http://localhost:${address.port}`, close: () => nest.close() };
}
