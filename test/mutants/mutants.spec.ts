import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyChange, mutantsIn, readMutant } from './mutant';

// The mutants themselves run in `npm run test:long`; that they still fit the code, and name tests that exist, is known here.

const root = join(__dirname, '..', '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const mutants = mutantsIn(__dirname);

it('there are at least a dozen', () => expect(mutants.length).toBeGreaterThanOrEqual(12));

it.each(mutants.map((mutant) => [mutant.name, mutant] as const))('%s applies, and its tests exist', (_, mutant) => {
  const files = new Map<string, string>();
  for (const change of mutant.changes) {
    files.set(change.file, applyChange(files.get(change.file) ?? read(change.file), change));
  }
  for (const [file, changed] of files) expect(changed).not.toBe(read(file));
  for (const test of [mutant.red, mutant.green]) expect(read(test.file)).toContain(`'${test.name}'`);
});

describe('a patch', () => {
  const patch = (body: string): string =>
    `Rule: r\nRed: a.spec.ts › b\nGreen: a.spec.ts › c\n\n--- a/x.ts\n+++ b/x.ts\n${body}`;

  it('is applied wherever its lines stand now', () => {
    const { changes } = readMutant('m', patch('@@ -1,3 +1,3 @@\n one\n-two\n+$2\n three\n'));
    expect(applyChange('zero\none\ntwo\nthree\n', changes[0]!)).toBe('zero\none\n$2\nthree\n');
  });

  it('is refused when its lines are gone or stand twice, or when it says too little', () => {
    const [change] = readMutant('m', patch('@@ -1,1 +1,1 @@\n-two\n+2\n')).changes;
    expect(() => applyChange('one\n', change!)).toThrow('stands 0 times in x.ts');
    expect(() => applyChange('two\ntwo\n', change!)).toThrow('stands 2 times in x.ts');
    expect(() => readMutant('m', patch(''))).toThrow('changes nothing');
    expect(() => readMutant('m', 'Rule: r\n')).toThrow('no line "Red: …"');
    expect(() => readMutant('m', 'Rule: r\nRed: a.spec.ts\n')).toThrow('is no "file › test"');
  });
});
