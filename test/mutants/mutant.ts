import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A test, by its file and its name as it stands in the source. */
export interface NamedTest {
  readonly file: string;
  readonly name: string;
}

/** One rule broken, and the test that must notice. */
export interface Mutant {
  readonly name: string;
  /** The rule, in a sentence. */
  readonly rule: string;
  /** Turns red. */
  readonly red: NamedTest;
  /**
   * Stays green: a mutant that breaks everything, such as a statement that PostgreSQL does not understand, says nothing about
   * its rule.
   */
  readonly green: NamedTest;
  readonly changes: readonly Change[];
}

/** One place in one file. */
export interface Change {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** The mutants of a folder, by name. */
export const mutantsIn = (folder: string): Mutant[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.patch'))
    .toSorted()
    .map((file) => readMutant(file.replace(/\.patch$/, ''), readFileSync(join(folder, file), 'utf8')));

/**
 * Reads a patch: lines `Rule:`, `Red:` and `Green:`, then a unified diff. Of its hunks only the lines count, not their numbers,
 * so that a change elsewhere in the file leaves a patch as it is.
 */
export function readMutant(name: string, text: string): Mutant {
  const [head, ...files] = text.split(/^--- /m);
  const field = (key: string): string => {
    const value = new RegExp(`^${key}: (.+)$`, 'm').exec(head!)?.[1];
    if (value === undefined) throw new Error(`The mutant ${name} has no line "${key}: …".`);
    return value.trim();
  };
  const namedTest = (key: string): NamedTest => {
    const [file, title] = field(key).split(' › ');
    if (file === undefined || title === undefined) throw new Error(`The mutant ${name}: ${key} is no "file › test".`);
    return { file, name: title };
  };
  const said = { rule: field('Rule'), red: namedTest('Red'), green: namedTest('Green') };
  const changes = files.flatMap((part) => changesOf(name, part));
  if (changes.length === 0) throw new Error(`The mutant ${name} changes nothing.`);
  return { name, ...said, changes };
}

function changesOf(name: string, part: string): Change[] {
  const file = /^\+\+\+ b\/(\S+)/m.exec(part)?.[1];
  if (file === undefined) throw new Error(`The mutant ${name} has a diff that names no file.`);
  const hunks = part.split(/^@@.*\n/m).slice(1);
  return hunks.map((hunk) => {
    const lines = hunk.replace(/\n$/, '').split('\n');
    const side = (mark: string): string =>
      lines
        .filter((line) => line === '' || line.startsWith(' ') || line.startsWith(mark))
        .map((line) => `${line.slice(1)}\n`)
        .join('');
    return { file, before: side('-'), after: side('+') };
  });
}

/**
 * The text with the change in it.
 * @throws Error when what is to be changed does not stand there, or stands there more than once
 */
export function applyChange(text: string, { file, before, after }: Change): string {
  const places = text.split(before).length - 1;
  if (places !== 1) throw new Error(`What it changes stands ${places} times in ${file}: write the patch anew.`);
  // As a function: a replacement text may have dollar signs in it.
  return text.replace(before, () => after);
}
