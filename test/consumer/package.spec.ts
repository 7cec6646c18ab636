import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import packageJson from '../../package.json';
import { nest12 } from './support/combinations';
import { makeApplication } from './support/make-application';
import { packPackage, root, type Tarball } from './support/tarball';
import { useApplication, whatIsSeen } from './support/use-application';

let folder: string;
let tarball: Tarball;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nest-deliveries-consumer-'));
  tarball = await packPackage(folder);
}, 120_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const doors = Object.entries(packageJson.exports).filter(
  (door): door is [string, { types: string; default: string }] =>
    door[0].startsWith('.') && typeof door[1] === 'object',
);
const nameOf = (door: string): string => join('nest-deliveries', door);

describe('the tarball', () => {
  test('holds what an application needs, and nothing else', () => {
    const groups: [string, RegExp][] = [
      ['said to people', /^(README|CHANGELOG)\.md$|^LICENSE$|^docs\/(generated\/|observability\/)?[a-z-]+\.md$/i],
      ['said to npm', /^package\.json$/],
      ['libraries', /^build\/libs\/[a-z-]+\/src\/(?!.*\.spec\.)[a-z0-9./-]+(\.js|\.d\.ts)$/],
      ['migrations', /^build\/migrations\/(index|errors|(deliveries|webhooks)\/[a-z0-9-]+)(\.js|\.d\.ts)$/],
      [
        'dashboard',
        /^templates\/dashboard\/(layout|pages\/[a-z]+|parts\/[a-z]+)\.hbs$|^templates\/dashboard\/assets\/[a-z]+\.(css|js|svg)$/,
      ],
      ['parts of emails', /^templates\/email\/parts\/[a-z]+\.(html|text)\.hbs$/],
      ['shown by pages', /^docs\/performance\/[a-z-]+\.svg$/],
      ['to import into Grafana and Prometheus', /^docs\/observability\/(alert-rules\.yml|grafana-dashboard\.json)$/],
    ];
    const groupsOf = (path: string): string[] => groups.filter(([, rule]) => rule.test(path)).map(([name]) => name);
    expect(tarball.files.filter((path) => groupsOf(path).length !== 1)).toEqual([]);
    expect([...new Set(tarball.files.flatMap(groupsOf))].toSorted()).toEqual(groups.map(([name]) => name).toSorted());
  });

  test('has all of the templates, and each door’s code and types', () => {
    const shipped = ['templates/dashboard', 'templates/email/parts'].flatMap((path) =>
      readdirSync(join(root, path), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)),
    );
    const needed = [
      ...shipped,
      ...doors.flatMap(([, door]) => [door.types, door.default].map((path) => path.slice(2))),
    ];
    expect(needed.filter((path) => !tarball.files.includes(path))).toEqual([]);
  });

  test('has a door for each library, also for a compiler that does not read exports', () => {
    const libraries = readdirSync(join(root, 'libs')).filter((name) =>
      existsSync(join(root, 'libs', name, 'src/index.ts')),
    );
    const others = libraries.filter((name) => name !== 'deliveries').map((name) => `./${name}`);
    expect(doors.map(([door]) => door).toSorted()).toEqual(['.', './commands', './migrations', ...others].toSorted());
    expect(packageJson.typesVersions['*']).toEqual(
      Object.fromEntries(doors.slice(1).map(([door, { types }]) => [door.slice(2), [types]])),
    );
    expect([packageJson.main, packageJson.types]).toEqual([doors[0]![1].default, doors[0]![1].types]);
  });

  test('shows the same names to require() and to import', () => {
    const program = `
      const names = ${JSON.stringify(doors.map(([door]) => nameOf(door)))};
      (async () => {
        for (const name of names) {
          const required = Object.keys(require(name)).toSorted();
          const { default: all, ...imported } = await import(name);
          delete imported['module.exports'];
          delete imported.__esModule;
          if (required.length === 0) throw new Error(name + ' is empty');
          require('node:assert').deepEqual(Object.keys(imported).toSorted(), required, name);
        }
      })();`;
    // Inside the package, its own name leads through its own exports; its optional peers are installed here.
    expect(execFileSync(process.execPath, ['-e', program], { cwd: tarball.source, encoding: 'utf8' })).toBe('');
  });

  test('loads the operators’ routes, their templates and OpenAPI for those alone who have these routes', () => {
    const program = `
      const { DeliveriesModule } = require('nest-deliveries');
      const loaded = () => ['handlebars', '@nestjs/swagger', 'operate/admin', 'operate/dashboard'].filter((name) =>
        Object.keys(require.cache).some((path) => path.includes('/' + name + '/')));
      DeliveriesModule.forRoot();
      const before = loaded();
      DeliveriesModule.forRoot({ admin: { guards: [{ canActivate: () => false }] } });
      console.log(JSON.stringify([before, loaded()]));`;
    const seen = execFileSync(process.execPath, ['-e', program], { cwd: tarball.source, encoding: 'utf8' });
    expect(JSON.parse(seen)).toEqual([[], ['handlebars', '@nestjs/swagger', 'operate/admin', 'operate/dashboard']]);
  });
});

describe('what the compiled code imports', () => {
  const { dependencies, peerDependencies, peerDependenciesMeta } = packageJson;
  const imported = (path: string): string[] => [
    ...new Set(
      [
        ...readFileSync(join(tarball.source, path), 'utf8').matchAll(/(?:require|import)\(['"]([^.'"][^'"]*)['"]\)/g),
      ].map(([, name]) => name!),
    ),
  ];
  const packageOf = (name: string): string =>
    name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/');
  const scripts = (): string[] => tarball.files.filter((path) => path.startsWith('build/') && path.endsWith('.js'));
  const outside = (name: string): boolean => !name.startsWith('node:') && packageOf(name) !== 'nest-deliveries';

  test('is declared, and what is declared is imported', () => {
    const used = new Set(scripts().flatMap(imported).filter(outside).map(packageOf));
    expect([...used].toSorted()).toEqual(Object.keys({ ...dependencies, ...peerDependencies }).toSorted());
  });

  test('is loaded by require(): Jest refuses import() in CommonJS unless Node has --experimental-vm-modules', () => {
    const importing = /\bimport\(['"]/;
    expect(scripts().filter((path) => importing.test(readFileSync(join(tarball.source, path), 'utf8')))).toEqual([]);
  });

  test('what an application may do without is asked for by its own door alone', () => {
    const optional = Object.keys(peerDependenciesMeta);
    const rooms: Record<string, string[]> = {};
    for (const path of scripts()) {
      const needs = imported(path)
        .map(packageOf)
        .filter((name) => optional.includes(name));
      for (const name of needs) (rooms[name] ??= []).push(path.split('/').slice(2, 5).join('/'));
    }
    const places = Object.fromEntries(
      Object.entries(rooms).map(([name, paths]) => [name, [...new Set(paths)].toSorted()]),
    );
    expect(places).toEqual({
      '@nestjs-modules/mailer': ['email/src/relay'],
      nodemailer: ['email/src/relay'],
      jose: ['backchannel-logout/src/token'],
      'nest-commander': ['deliveries/src/commands'],
      // These two are looked for, and done without.
      '@nestjs/swagger': ['deliveries/src/operate'],
      'prom-client': ['deliveries/src/observe'],
    });
  });
});

describe('docs/dependencies.md', () => {
  const page = readFileSync(join(root, 'docs/dependencies.md'), 'utf8');
  const { dependencies, peerDependencies, peerDependenciesMeta } = packageJson;
  const rows = (marker: string): string[][] =>
    page
      .split(`<!-- ${marker}:begin -->`)[1]!
      .split(`<!-- ${marker}:end -->`)[0]!
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) =>
        line
          .split(/(?<!\\)\|/)
          .slice(1, -1)
          .map((cell) => cell.trim().replaceAll('`', '').replaceAll('\\|', '|')),
      );

  test('names each dependency with its range, its size and its reason', () => {
    const documented = rows('dependencies');
    expect(documented.map(([name, range]) => [name, range])).toEqual(Object.entries(dependencies));
    for (const [name, , size, why] of documented) {
      expect([name, isAbout(installedSize(name!), Number.parseInt(size!, 10))]).toEqual([name, true]);
      expect(why!.length).toBeGreaterThan(20);
    }
    const stated = /The package itself takes some (\d+) kB/.exec(page)?.[1];
    // It grows with each guide.
    expect(Math.abs(tarball.unpackedSize / 1_000 / Number(stated) - 1)).toBeLessThan(0.25);
  });

  test('names each peer with its range, and whether it is needed', () => {
    const documented = rows('peers');
    expect(documented.map(([name, range]) => [name, range])).toEqual(Object.entries(peerDependencies));
    const needed = documented.filter(([, , when]) => when === 'always').map(([name]) => name!);
    expect(needed).toEqual(Object.keys(peerDependencies).filter((name) => !(name in peerDependenciesMeta)));
  });
});

/** In kB: of its files and of those of all that it needs. */
function installedSize(name: string, counted = new Set<string>()): number {
  if (counted.has(name)) return 0;
  counted.add(name);
  const place = join(root, 'node_modules', name);
  const files = readdirSync(place, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const own = files.reduce((sum, file) => sum + statSync(join(file.parentPath, file.name)).size, 0) / 1_000;
  const manifest = JSON.parse(readFileSync(join(place, 'package.json'), 'utf8')) as Record<string, object | undefined>;
  const needed = Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies });
  return needed.reduce((sum, each) => sum + installedSize(each, counted), own);
}

/** A release more or less changes nothing of what is said. */
const isAbout = (size: number, stated: number): boolean => Math.abs(size - stated) < Math.max(5, stated / 10);

test('a NestJS 12 application in CommonJS, made by somebody else, delivers', async () => {
  const application = join(folder, 'application');
  await makeApplication(application, tarball.path, nest12('commonjs'));
  const seen = await useApplication(application);
  expect(seen).toMatchObject(whatIsSeen);
  const without = ['@nestjs-modules/mailer', 'jose', 'nest-commander', 'nodemailer', '@nestjs/swagger'];
  expect(without.filter((name) => existsSync(join(application, 'node_modules', name)))).toEqual([]);
  const [needy, rest] = [
    ['email', 'backchannel-logout', 'commands'],
    ['', 'webhooks', 'outbound-http', 'migrations'],
  ];
  const load = (door: string): string =>
    execFileSync(
      process.execPath,
      [
        '-e',
        `try { require('nest-deliveries/${door}'.replace(/\\/$/, '')); console.log('fine') } catch (error) { console.log(error.code) }`,
      ],
      { cwd: application, encoding: 'utf8' },
    ).trim();
  expect(rest.map(load)).toEqual(rest.map(() => 'fine'));
  expect(needy.map(load)).toEqual(needy.map(() => 'MODULE_NOT_FOUND'));
}, 120_000);
