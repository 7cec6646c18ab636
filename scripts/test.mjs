// Everything that a change must pass, in the order in which it is cheapest to be told. `npm test` calls it; so does CI.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

/** Arguments for Jest, such as the tests to run. Of some tests alone coverage says nothing. */
const some = process.argv.slice(2);
/** Two rows, at the same time: each check computes on one core most of its time. Types and build write into the same folder. */
const rows = [
  [
    ['format', 'npm', ['run', '--silent', 'format:check']],
    ['lint', 'npm', ['run', '--silent', 'lint']],
  ],
  [
    ['types', 'npm', ['run', '--silent', 'typecheck']],
    ['build', 'npm', ['run', '--silent', 'build']],
  ],
];
/** One after the other, seen while they run; a check is printed when it has ended. */
const steps =
  some.length > 0
    ? [['tests and docs', 'npx', ['jest', ...some]]]
    : [
        ['tests and docs', 'npx', ['jest', '--coverage']],
        ['coverage', 'node', ['scripts/coverage.mjs']],
      ];

const results = new Map([...rows.flat(), ...steps].map(([name]) => [name, undefined]));

async function run([name, command, args], seen) {
  const started = performance.now();
  const child = spawn(command, args, { stdio: seen ? 'inherit' : ['ignore', 'pipe', 'pipe'] });
  const output = seen ? [] : [text(child.stdout), text(child.stderr)];
  const [code] = await once(child, 'close');
  results.set(name, { ok: code === 0, seconds: ((performance.now() - started) / 1000).toFixed(1) });
  return (await Promise.all(output)).join('');
}

async function check(row) {
  for (const each of row) {
    const output = await run(each, false);
    console.log(`\n── ${each[0]} ──\n${output.trim()}`);
  }
}

await Promise.all(rows.map(check));
for (const step of steps) {
  console.log(`\n── ${step[0]} ──`);
  await run(step, true);
}

console.log('\nResult:');
for (const [name, { ok, seconds }] of results) console.log(`  ${ok ? 'ok    ' : 'FAILED'}  ${name} (${seconds} s)`);
process.exitCode = [...results.values()].every(({ ok }) => ok) ? 0 : 1;
