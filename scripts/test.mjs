// Everything that a change must pass, in the order in which it is cheapest to be told. `npm test` calls it; so does CI.
import { spawnSync } from 'node:child_process';

/** Arguments for Jest, such as the tests to run. Of some tests alone coverage says nothing. */
const some = process.argv.slice(2);
const steps = [
  ['format', 'npm', ['run', '--silent', 'format:check']],
  ['lint', 'npm', ['run', '--silent', 'lint']],
  ['types', 'npm', ['run', '--silent', 'typecheck']],
  ['build', 'npm', ['run', '--silent', 'build']],
  ...(some.length > 0
    ? [['tests and docs', 'npx', ['jest', ...some]]]
    : [
        ['tests and docs', 'npx', ['jest', '--coverage']],
        ['coverage', 'node', ['scripts/coverage.mjs']],
      ]),
];

const results = [];
for (const [name, command, args] of steps) {
  console.log(`\n── ${name} ──`);
  const started = performance.now();
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  results.push({ name, ok: status === 0, seconds: ((performance.now() - started) / 1000).toFixed(1) });
}

console.log('\nResult:');
for (const { name, ok, seconds } of results) console.log(`  ${ok ? 'ok    ' : 'FAILED'}  ${name} (${seconds} s)`);
process.exitCode = results.every(({ ok }) => ok) ? 0 : 1;
