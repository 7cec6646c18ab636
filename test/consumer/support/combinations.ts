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

/** The lowest version that a range allows: its first one. */
const lowest = (range: string): string => /\d+\.\d+\.\d+/.exec(range)![0];

const { peerDependencies } = packageJson;

/**
 * Each peer at the lowest version that we say is enough, which means NestJS 11; with a compiler of its time, which knows nothing of
 * `exports`.
 */
export const oldest: Combination = {
  name: 'nest-11-commonjs',
  modules: 'commonjs',
  versions: {
    ...Object.fromEntries(Object.entries(peerDependencies).map(([name, range]) => [name, lowest(range)])),
    '@nestjs/platform-express': lowest(peerDependencies['@nestjs/core']),
    '@nestjs/terminus': '11.0.0',
    '@nestjs/typeorm': '11.0.3',
    '@types/node': devDependencies['@types/node'],
    '@willsoto/nestjs-prometheus': devDependencies['@willsoto/nestjs-prometheus'],
    // For the mailer, which does not say that it needs it.
    lodash: devDependencies.lodash,
    'reflect-metadata': devDependencies['reflect-metadata'],
    typescript: '5.9.3',
  },
  locked: false,
  compilerOptions: { module: 'commonjs', moduleResolution: 'node10', esModuleInterop: true },
};
