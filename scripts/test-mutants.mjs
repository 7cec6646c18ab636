// Does each rule of the libraries have a test that would notice? Breaks one rule at a time, in a copy of the tree, and runs the
// test that the mutant names: it must turn red, while another one beside it stays green.
//
//   npm run test:mutants              all of test/mutants/*.patch
//   npm run test:mutants -- settle    those with `settle` in their names
import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
require('../test/support/ts-hook.cjs');
const { applyChange, mutantsIn } = require('../test/mutants/mutant.ts');
const { startEmbeddedPostgres } = require('../src/embedded-postgres/index.ts');

/** Two cores: the tests mostly wait, and two at a time take little more than half of the time of one. */
const lanesAtOnce = 2;
/** In ms. A mutant may leave a test waiting for what never comes, up to its own limits. */
const patience = 180_000;

const wanted = process.argv.slice(2);
const mutants = mutantsIn(join(root, 'test', 'mutants')).filter(
  ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
);

const began = performance.now();
const lanes = [];
const complaints = [];
try {
  for (let lane = 0; lane < lanesAtOnce; lane += 1) lanes.push(await openLane());
  await checkGreen();
  if (complaints.length === 0) await inLanes(mutants, tryMutant);
} finally {
  await Promise.all(lanes.map(({ close }) => close()));
}
const totalSeconds = ((performance.now() - began) / 1_000).toFixed(0);
console.log(`\n${mutants.length} mutants in ${totalSeconds} s; ${complaints.length || 'no'} complaints.`);
for (const complaint of complaints) console.log(`  ${complaint}`);
process.exitCode = complaints.length === 0 && mutants.length > 0 ? 0 : 1;

/** A copy of the tree, with a server of its own: each run of Jest makes its template database anew. */
async function openLane() {
  const folder = await mkdtemp(join(tmpdir(), 'nest-deliveries-mutants-'));
  const left = new Set(['node_modules', 'dist', '.git', '.data', 'coverage'].map((name) => join(root, name)));
  await cp(root, folder, {
    recursive: true,
    filter: (from) => !left.has(from) && !relative(root, from).includes(`${sep}node_modules`),
  });
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const server = await startEmbeddedPostgres({ settings: { max_connections: '300' } });
  const close = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { folder, url: server.url, close };
}

/** A test that is red, or not there, without any mutant proves nothing with one. */
async function checkGreen() {
  const tests = mutants.flatMap(({ red, green }) => [red, green]);
  const files = [...new Set(tests.map(({ file }) => file))];
  await inLanes(files, async (file, lane) => {
    const named = tests.filter((test) => test.file === file);
    const run = await jest(lane, named);
    for (const name of new Set(named.map((test) => test.name))) {
      const verdict = verdictOn(run, { file, name });
      if (verdict !== 'green')
        complaints.push(
          `Without a mutant, ${file} › ${name} is ${verdict}. ${run.trouble || reason(run, { file, name })}`,
        );
    }
  });
  console.log(
    `${files.length} files with named tests are ${complaints.length === 0 ? 'green' : 'NOT green'} without a mutant.`,
  );
}

async function tryMutant(mutant, lane) {
  const started = performance.now();
  const { verdict, said } = await judge(mutant, lane).catch((error) => ({
    verdict: 'DOES NOT APPLY',
    said: error.message,
  }));
  const took = ((performance.now() - started) / 1_000).toFixed(1);
  console.log(`  ${verdict.padEnd(14)} ${took.padStart(5)} s  ${mutant.name.padEnd(36)} ${said}`);
  if (verdict !== 'caught') complaints.push(`${mutant.name} (${mutant.rule}): ${verdict}. ${said}`);
}

async function judge(mutant, lane) {
  const originals = new Map();
  try {
    for (const change of mutant.changes) {
      const path = join(lane.folder, change.file);
      const text = await readFile(path, 'utf8');
      if (!originals.has(path)) originals.set(path, text);
      await writeFile(path, applyChange(text, change));
    }
    const run = await jest(lane, [mutant.red, mutant.green]);
    const red = verdictOn(run, mutant.red);
    const green = verdictOn(run, mutant.green);
    if (run.trouble) return { verdict: 'NO VERDICT', said: run.trouble.split('\n').slice(0, 3).join(' ') };
    if (green !== 'green') return { verdict: 'TOO MUCH', said: `“${mutant.green.name}” is ${green}, too` };
    if (red === 'green') return { verdict: 'SURVIVED', said: `“${mutant.red.name}” stayed green` };
    if (red !== 'red') return { verdict: 'NO VERDICT', said: `“${mutant.red.name}” is ${red}` };
    return { verdict: 'caught', said: `“${mutant.red.name}”: ${reason(run, mutant.red)}` };
  } finally {
    for (const [path, text] of originals) await writeFile(path, text);
  }
}

/** What became of a named test; one of it.each is red when one of its rows is. */
function verdictOn(run, test) {
  const results = resultsOf(run, test).filter(({ status }) => status === 'passed' || status === 'failed');
  if (results.length === 0) return 'not run';
  return results.some(({ status }) => status === 'failed') ? 'red' : 'green';
}

function resultsOf(run, { file, name }) {
  const title = new RegExp(`^${pattern(name)}$`);
  return run.files
    .filter(({ name: path }) => path.endsWith(sep + join(file)))
    .flatMap(({ assertionResults }) => assertionResults.filter((result) => title.test(result.title)));
}

/** The first words of the failure, for the reader to judge. */
function reason(run, test) {
  const failure = resultsOf(run, test).find(({ status }) => status === 'failed');
  const lines = stripVTControlCharacters(failure?.failureMessages.join('\n') ?? '').split('\n');
  const telling = lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('at '));
  return telling.slice(0, 3).join(' ').slice(0, 160);
}

/** A test's name as a pattern; what it.each fills in can be anything. */
function pattern(name) {
  return name.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replace(/%[sdijop]|\\\$\w+/g, '.*');
}

async function jest(lane, tests) {
  const output = join(lane.folder, 'jest-results.json');
  await rm(output, { force: true });
  const names = [...new Set(tests.map(({ name }) => pattern(name)))].join('|');
  const files = [...new Set(tests.map(({ file }) => file))];
  const args = [
    'node_modules/jest/bin/jest.js',
    '--runInBand',
    '--forceExit',
    '--silent',
    '--json',
    '--outputFile',
    output,
  ];
  if (!(await useServer(lane, files))) args.push('--config', withoutServer(lane));
  const env = { ...process.env, TEST_DATABASE_URL: lane.url, TEST_LONG: '' };
  const child = spawn(process.execPath, [...args, '--testNamePattern', names, '--runTestsByPath', ...files], {
    cwd: lane.folder,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
  let tooLong = false;
  const limit = setTimeout(() => {
    tooLong = true;
    child.kill('SIGKILL');
  }, patience);
  await new Promise((resolve) => child.once('close', resolve));
  clearTimeout(limit);
  const text = await readFile(output, 'utf8').catch(() => undefined);
  if (text === undefined)
    return { files: [], trouble: tooLong ? 'It took too long.' : `Jest did not run: ${said.slice(-500)}` };
  const { testResults } = JSON.parse(text);
  // A file that does not compile has a message and no results.
  const broken = testResults.find(
    ({ status, assertionResults }) => status === 'failed' && assertionResults.length === 0,
  );
  return { files: testResults, trouble: broken ? `${broken.message.slice(0, 500)}` : '' };
}

/** Tests of pure functions do without the template database and the browser: half of the time that such a mutant takes. */
async function useServer(lane, files) {
  const texts = await Promise.all(files.map((file) => readFile(join(lane.folder, file), 'utf8')));
  return texts.some((text) => text.includes('support/'));
}

function withoutServer(lane) {
  const config = require(join(lane.folder, 'jest.config.cjs'));
  return JSON.stringify({ ...config, globalSetup: undefined, globalTeardown: undefined });
}

/** Each lane takes the next one when it is done with the last. */
async function inLanes(items, work) {
  const queue = [...items];
  await Promise.all(
    lanes.map(async (lane) => {
      for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item, lane);
    }),
  );
}
