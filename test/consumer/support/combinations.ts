import packageJson from '../../../package.json';
import type { Combination } from './make-application';

const { devDependencies } = packageJson;

/** What an application has that sends webhooks and shows how it goes: no mailer, no jose, no command line, no OpenAPI. */
const names = [
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  '@nestjs/schedule',
  '@nestjs/terminus',
  '@nestjs/typeorm',
  '@types/node',
  '@willsoto/nestjs-prometheus',
  'pg',
  'prom-client',
  'reflect-metadata',
  'rxjs',
  'typeorm',
] as const;

/** As this repository has it. */
export const nest12 = (modules: Combination['modules']): Combination => ({
  name: `nest-12-${modules}`,
  modules,
  versions: Object.fromEntries(names.map((name) => [name, devDependencies[name]])),
  locked: true,
});
