import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments, usage, type Arguments } from './arguments';
import type { Run } from './part';
import { parts } from './parts/parts';
import { profileDrain } from './parts/profile';
import { settings } from './queue/ours/settings';
import { Stage } from './queue/stage';
import { machine, missedOf, othersOf, type Result } from './report/result';
import { textReport } from './report/text-report';
import { writeDocs } from './report/write-docs';

/** Below the compiled bench, in a folder that git ignores. */
const folder = join(__dirname, '../../../bench-results');

async function main(): Promise<void> {
  const given = readArguments(process.argv.slice(2));
  if (given.help) return void process.stdout.write(usage());
  const result = given.from === undefined ? await measure(given) : read(given.from);
  if (given.docs) progress(`written: ${(await writeDocs(result)).join(', ')}`);
  process.stdout.write(given.json ? `${JSON.stringify(result, null, 2)}\n` : textReport(result));
}

async function measure({ names, quick, rounds, profile }: Arguments): Promise<Result> {
  const began = performance.now();
  const before = machine();
  let stage: Promise<Stage> | undefined;
  const run: Run = {
    quick,
    rounds: (few, many) => rounds ?? (quick ? few : many),
    stage: () => (stage ??= Stage.open(join(folder, 'contenders.log'))),
    progress,
  };
  const measured: Result['measured'][number][] = [];
  const ratios: Record<string, number> = {};
  let profiled: Result['profile'];
  let opened: Stage | undefined;
  try {
    for (const part of parts.filter(({ name }) => names.includes(name))) {
      progress(`${part.name}: ${part.about}`);
      const report = await part.run(run);
      measured.push(...report.measured.map((row) => ({ ...row, part: part.name })));
      Object.assign(ratios, report.ratios);
    }
    if (profile) profiled = await profileDrain(run, folder);
  } finally {
    opened = await stage?.catch(() => undefined);
    await opened?.close();
  }
  const result: Result = {
    at: new Date().toISOString(),
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    quick,
    seconds: Math.round((performance.now() - began) / 1_000),
    parts: names,
    machine: before,
    server: opened?.server ?? {},
    contenders: opened?.contenders ?? {},
    ours: settings,
    ratios,
    missed: missedOf(ratios),
    others: othersOf(measured),
    measured,
    profile: profiled,
  };
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${result.at.replaceAll(':', '-')}.json`);
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`);
  progress(`the result is in ${file}`);
  return result;
}

const read = (files: string): Result =>
  files
    .split(',')
    .map((file) => JSON.parse(readFileSync(file, 'utf8')) as Result)
    .reduce(joined);

/** Parts that ran one after the other, on the machine and the server that the first one tells of. */
function joined(first: Result, second: Result): Result {
  const ratios = { ...first.ratios, ...second.ratios };
  const measured = [...first.measured, ...second.measured];
  return {
    ...first,
    command: `${first.command} && ${second.command}`,
    seconds: first.seconds + second.seconds,
    parts: [...first.parts, ...second.parts],
    ratios,
    missed: missedOf(ratios),
    others: othersOf(measured),
    measured,
    profile: first.profile ?? second.profile,
  };
}

function progress(line: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)}  ${line}\n`);
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
