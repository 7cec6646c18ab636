// Prints how much of libs the tests ran, room by room. In the rooms where a mistake loses a delivery, sends it twice or opens a
// network, each branch that no test took is named, and has its reason in test/coverage/not-taken.json or fails the run.
//
// Reads what `jest --coverage` of all tests wrote. What runs in processes that a test starts is not counted: killed workers,
// replicas, the commands and the demonstration do more than this table says.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
require('../test/support/ts-hook.cjs');
const { branchesOf, judge, linesOf, roomOf, sum } = require('../test/coverage/coverage.ts');

const watched = ['record', 'order', 'claim', 'settle'].map((room) => `deliveries/${room}`);
watched.push('outbound-http/address-policy');

const counted = JSON.parse(readFileSync(join(root, 'coverage', 'coverage-final.json'), 'utf8'));
const files = Object.values(counted).map((each) => {
  const file = relative(root, each.path);
  const branches = branchesOf(each, file, readFileSync(each.path, 'utf8'));
  const ran = branches.filter(({ taken }) => taken > 0).length;
  return { room: roomOf(file), branches, lines: linesOf(each), taken: { all: branches.length, ran } };
});

console.log('Of libs ran, in the processes of Jest itself:\n');
print('', 'lines', 'branches');
for (const room of [...new Set(files.map((file) => file.room))].toSorted()) {
  printShares(
    room,
    files.filter((file) => file.room === room),
  );
}
printShares('all', files);

const explanations = JSON.parse(readFileSync(join(root, 'test', 'coverage', 'not-taken.json'), 'utf8'));
const branches = files.filter(({ room }) => watched.includes(room)).flatMap((file) => file.branches);
const { explained, unexplained, outdated } = judge(branches, explanations);
const wordsOf = ({ file, line, code, way }) => `${file}:${line}  ${way}  in  ${code}`;

console.log(`\nBranches of ${watched.join(', ')} that no test took:`);
for (const branch of explained) console.log(`  ${wordsOf(branch)}\n      ${branch.reason}`);
for (const branch of unexplained) console.log(`  NOT EXPLAINED  ${wordsOf(branch)}`);
for (const { file, code, way } of outdated) console.log(`  GONE           ${file}  ${way}  in  ${code}`);
if (explained.length + unexplained.length === 0) console.log('  none');
if (unexplained.length + outdated.length > 0) {
  console.log('\nWrite a test that takes it, take it out, or correct test/coverage/not-taken.json.');
  process.exitCode = 1;
}

function printShares(room, of) {
  print(room, said(sum(of.map(({ lines }) => lines))), said(sum(of.map(({ taken }) => taken))));
}

function print(room, lines, shareOfBranches) {
  console.log(`  ${room.padEnd(32)}${lines.padStart(20)}${shareOfBranches.padStart(20)}`.trimEnd());
}

function said({ all, ran }) {
  return all === 0 ? '-' : `${((100 * ran) / all).toFixed(1)} % of ${String(all).padStart(5)}`;
}
