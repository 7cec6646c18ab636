import type { EmailKind } from '../email-kind';
import { parseTemplate, subjectMark, type ParsedTemplate, type TemplateFile } from '../template-file';
import { TemplateWalk, type Parts, type TemplateProblem } from './template-walk';
import { scopeOf } from './value';

export type { TemplateProblem } from './template-walk';

const halves = ['text', 'html'] as const;
type Half = (typeof halves)[number];

/**
 * Holds templates against message kinds. Pure. Wrong are: a half that is missing, a template without a kind, a field that the kind
 * does not have, fields that one half uses and the other does not, a value that is not escaped where it stands, and anything but a
 * subject of one line in the head of a text half.
 *
 * @param folder where a missing half belongs, for its problem
 * @returns what is wrong, in the order of files and lines; nothing, if all is well
 */
export function checkTemplates(
  kinds: readonly EmailKind[],
  files: readonly TemplateFile[],
  folder = 'templates/email',
): TemplateProblem[] {
  const problems: TemplateProblem[] = [];
  const parsed = parseAll(files, problems);
  const templates = files.filter(({ role }) => role === 'kind');
  for (const file of templates) {
    if (!kinds.some(({ name }) => name === file.name)) {
      problems.push({
        path: file.path,
        line: 1,
        rule: `there is no message kind "${file.name}": add it, or remove the template`,
      });
    }
  }
  for (const kind of kinds) {
    const used = halves.map((half) => {
      const file = templates.find((each) => each.name === kind.name && each.half === half);
      if (file) return walkHalf(kind, file, parsed, problems);
      const path = `${folder}/${kind.name}.${half}.hbs`;
      problems.push({ path, line: 1, rule: `is missing: kind "${kind.name}" needs a text and an HTML template` });
      return undefined;
    });
    const [text, html] = used;
    if (text && html) problems.push(...differences(text, html), ...differences(html, text));
  }
  return problems.toSorted((a, b) => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1));
}

type Parsed = ReadonlyMap<TemplateFile, ParsedTemplate>;

interface UsedFields {
  readonly file: TemplateFile;
  readonly used: ReadonlyMap<string, number>;
}

function walkHalf(
  kind: EmailKind,
  file: TemplateFile,
  parsed: Parsed,
  problems: TemplateProblem[],
): UsedFields | undefined {
  const template = parsed.get(file);
  if (!template) return undefined;
  const scope = scopeOf({ shape: { is: 'fields', of: kind.fields } });
  const body = new TemplateWalk(partsOf(file.half, parsed));
  body.file(file, template.body, scope);
  // On its own: a field may be in the subject and in neither half.
  const subject = new TemplateWalk(new Map());
  if (template.subject) subject.subject(file, template.subject, scope);
  problems.push(...headProblems(file), ...subject.problems, ...body.problems.filter((each) => !has(problems, each)));
  return { file, used: body.used };
}

/** A text half begins with its subject and an empty line: what stood between them would be headers of their own. */
function headProblems({ path, half, source }: TemplateFile): TemplateProblem[] {
  if (half !== 'text') return [];
  const [first = '', second = ''] = source.split('\n');
  if (!first.startsWith(subjectMark) || first.slice(subjectMark.length).trim() === '') {
    return [{ path, line: 1, rule: `must begin with "${subjectMark}…"` }];
  }
  if (/\p{Cc}/u.test(first))
    return [{ path, line: 1, rule: 'the subject is a header: no control character can stand in it' }];
  if (second === '') return [];
  return [{ path, line: 2, rule: 'must be empty: no header but the subject is set by a template' }];
}

/** What one half uses and the other does not. */
const differences = (one: UsedFields, other: UsedFields): TemplateProblem[] =>
  [...one.used]
    .filter(([field]) => !other.used.has(field))
    .map(([field, line]) => ({
      path: one.file.path,
      line,
      rule: `uses the field "${field}", which ${other.file.path} does not use: both must say the same`,
    }));

function parseAll(files: readonly TemplateFile[], problems: TemplateProblem[]): Parsed {
  const parsed = new Map<TemplateFile, ParsedTemplate>();
  for (const file of files) {
    try {
      parsed.set(file, parseTemplate(file));
    } catch (error) {
      problems.push({ path: file.path, line: errorLine(error), rule: 'is no valid Handlebars' });
    }
  }
  return parsed;
}

function errorLine(error: unknown): number {
  const { lineNumber, message } = error as { lineNumber?: number; message: string };
  return lineNumber ?? Number(/\bline (\d+)/.exec(message)?.[1] ?? 1);
}

const partsOf = (half: Half, parsed: Parsed): Parts =>
  new Map(
    [...parsed]
      .filter(([file]) => file.role === 'part' && file.half === half)
      .map(([file, { body }]) => [file.name, { file, body }]),
  );

/** A part that several kinds use is wrong once. */
const has = (problems: readonly TemplateProblem[], { path, line, rule }: TemplateProblem): boolean =>
  problems.some((each) => each.path === path && each.line === line && each.rule === rule);
