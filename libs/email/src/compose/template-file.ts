import { parse } from 'handlebars';

/** A template as it lies in its folder. */
export interface TemplateFile {
  /** As shown to people. */
  readonly path: string;
  readonly name: string;
  readonly half: 'text' | 'html';
  /** A message kind's own, or a part that several share. */
  readonly role: 'kind' | 'part';
  readonly source: string;
}

export interface ParsedTemplate {
  /** Of the text half of a kind: what stands behind `Subject:` in its first line. */
  readonly subject: hbs.AST.Program | undefined;
  readonly body: hbs.AST.Program;
}

/** What the first line of a text half begins with. */
export const subjectMark = 'Subject: ';

/**
 * Parses a template. The text half of a kind begins like a message: a line with its subject, and an empty one.
 *
 * @throws Handlebars' error, with a `hash.loc` or a line in its text
 */
export function parseTemplate({ role, half, source }: TemplateFile): ParsedTemplate {
  if (role !== 'kind' || half !== 'text') return { subject: undefined, body: parse(source) };
  const [first = '', ...rest] = source.split('\n');
  // In the place of the subject an empty line, so that lines keep their numbers.
  return { subject: parse(first.slice(subjectMark.length)), body: parse(['', ...rest].join('\n')) };
}
