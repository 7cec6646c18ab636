import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import packageJson from '../../../package.json';
import packageLock from '../../../package-lock.json';
import { root } from './tarball';

/** What an application is made of, besides its sources. */
export interface Combination {
  readonly name: string;
  readonly modules: 'commonjs' | 'esm';
  /** Of its dependencies, by name. Those of this repository come with its lock file, and so without asking a registry. */
  readonly versions: Readonly<Record<string, string>>;
  readonly locked: boolean;
  /** Over those that a new Nest application has. */
  readonly compilerOptions?: Readonly<Record<string, unknown>>;
}

const run = promisify(execFile);

/** Installs the tarball into an application of somebody else's, in a folder of its own, and compiles that. */
export async function makeApplication(folder: string, tarball: string, combination: Combination): Promise<void> {
  mkdirSync(join(folder, 'src'), { recursive: true });
  const write = (name: string, content: unknown): void =>
    writeFileSync(join(folder, name), JSON.stringify(content, null, 2));
  const manifest = manifestOf(folder, tarball, combination);
  write('package.json', manifest);
  write('tsconfig.json', { compilerOptions: { ...compilerOptions, ...combination.compilerOptions }, include: ['src'] });
  if (combination.locked) write('package-lock.json', lockFor(manifest));
  for (const [name, source] of sources(combination.modules)) writeFileSync(join(folder, 'src', name), source);
  await run('npm', ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
  // This repository's compiler, unless the application has one: it is no part of what is tried here.
  const own = 'typescript' in combination.versions ? folder : root;
  await compile(process.execPath, [join(own, 'node_modules/typescript/bin/tsc')], folder);
}

/** As `nest new` writes them. */
const compilerOptions = {
  module: 'nodenext',
  target: 'ES2023',
  types: ['node'],
  strict: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  strictPropertyInitialization: false,
  skipLibCheck: true,
  rootDir: 'src',
  outDir: 'dist',
};

type Manifest = Record<string, unknown>;

function manifestOf(folder: string, tarball: string, { name, modules, versions }: Combination): Manifest {
  return {
    name,
    version: '1.0.0',
    private: true,
    ...(modules === 'esm' ? { type: 'module' } : {}),
    dependencies: { ...versions, 'nest-deliveries': `file:${relative(folder, tarball)}` },
    overrides: { 'file-type': packageJson.overrides['file-type'] },
  };
}

/** This repository's lock file: npm leaves out what the application does not need. */
const lockFor = (manifest: Manifest): unknown => ({
  ...packageLock,
  name: manifest.name,
  version: manifest.version,
  packages: { ...packageLock.packages, '': manifest },
});

/** The README's channel, entity and service as they stand there, and an application around them. */
function sources(modules: Combination['modules']): [string, string][] {
  const own = readdirSync(join(root, 'test/consumer/application')).map((name) => `test/consumer/application/${name}`);
  const shown = ['account.entity.ts', 'accounts.service.ts', 'welcome.channel.ts'].map(
    (name) => `test/docs/readme/${name}`,
  );
  return [...own, ...shown].map((path) => {
    const source = readFileSync(join(root, path), 'utf8').replaceAll("'../../docs/readme/", "'./");
    return [
      path.split('/').at(-1)!,
      modules === 'esm' ? source.replaceAll(/ from '(\.[^']+)'/g, " from '$1.js'") : source,
    ];
  });
}

/** @throws with what the compiler says, which it says on standard output */
async function compile(command: string, args: readonly string[], cwd: string): Promise<void> {
  await run(command, args, { cwd }).catch((error: { stdout?: string }) => {
    throw new Error(`The application does not compile:\n${error.stdout}`, { cause: error });
  });
}
