import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { Bench, BenchReport } from './bench';
import { httpBench } from './http';
import { backlogBench, drainBench, orderedBench, recordBench } from './queue/queue-bench';

// npm run bench -- [--only http,…] [--rounds 5] [--json]

const benches: readonly Bench[] = [httpBench, drainBench, recordBench, orderedBench, backlogBench];

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { only: { type: 'string' }, rounds: { type: 'string', default: '5' }, json: { type: 'boolean' } },
  });
  const names = values.only?.split(',') ?? benches.map(({ name }) => name);
  const unknown = names.find((name) => !benches.some((bench) => bench.name === name));
  if (unknown !== undefined) {
    throw new Error(`--only ${unknown} is no bench; known are ${benches.map(({ name }) => name).join(', ')}.`);
  }
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new Error(`--rounds must be a whole number above 0; got ${values.rounds}.`);
  }
  const report: BenchReport = { measured: [], ratios: {} };
  for (const bench of benches.filter(({ name }) => names.includes(name))) {
    const { measured, ratios } = await bench.run({ rounds });
    report.measured.push(...measured);
    Object.assign(report.ratios, ratios);
  }
  process.stdout.write(values.json ? `${JSON.stringify({ machine: machine(), ...report }, null, 2)}\n` : table(report));
}

function machine(): Record<string, unknown> {
  const all = cpus();
  return { node: process.version, cores: all.length, cpu: all[0]?.model, load: loadavg()[0] };
}

function table({ measured, ratios }: BenchReport): string {
  const rows = measured.map(
    ({ what, contender, unit, median, least, most }) =>
      `${what.padEnd(24)}${contender.padEnd(16)}${median.toFixed(0).padStart(8)} ${unit} (${least.toFixed(0)} to ${most.toFixed(0)})`,
  );
  const lines = Object.entries(ratios).map(([name, value]) => `${name.padEnd(40)}${value.toFixed(3).padStart(8)}`);
  return `${[...rows, '', ...lines].join('\n')}\n`;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
