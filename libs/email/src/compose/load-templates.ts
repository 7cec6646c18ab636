import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { EmailTemplateError } from '../errors';
import { checkTemplates, type TemplateProblem } from './check/check-templates';
import type { EmailKind } from './email-kind';
import type { TemplateFile } from './template-file';
import { compileTemplates, type TemplateSet } from './template-set';

const named = /^([a-z][a-z0-9-]*)\.(text|html)\.hbs$/;

/**
 * Reads, checks and compiles the templates of a folder, all at once, so that a mistake in one of them is a failed start.
 *
 * @throws EmailTemplateError with a line for each problem
 */
export function loadTemplates(folder: string, kinds: readonly EmailKind[], brand: string): TemplateSet {
  const files = readTemplates(folder);
  const problems = checkTemplates(kinds, files, shown(folder));
  if (problems.length === 0) return compileTemplates(kinds, files, brand);
  const lines = problems.map(inWords);
  throw new EmailTemplateError(`Email templates do not fit their message kinds:\n${lines.join('\n')}`);
}

/**
 * What is wrong with the templates of a folder, a line for each problem, such as `templates/email/welcome.html.hbs:12: …`; nothing if
 * all is well. For a build, which then fails where a start would.
 *
 * @throws EmailTemplateError when there is no such folder
 */
export const checkTemplateFolder = (folder: string, kinds: readonly EmailKind[]): string[] =>
  checkTemplates(kinds, readTemplates(folder), shown(folder)).map(inWords);

const inWords = ({ path, line, rule }: TemplateProblem): string => `${path}:${line}: ${rule}`;

/**
 * The templates of a folder: kinds in the folder itself, parts that they share in `parts/`. Parts that it lacks are those of this
 * package.
 *
 * @throws EmailTemplateError when there is no such folder
 */
export function readTemplates(folder: string): TemplateFile[] {
  if (!existsSync(folder)) {
    throw new EmailTemplateError(
      `EmailModule: templates must name the folder of the templates; there is none at ${folder}.`,
    );
  }
  const own = join(folder, 'parts');
  const parts = existsSync(own) ? read(own, 'part') : [];
  const missing = (file: TemplateFile): boolean =>
    !parts.some(({ name, half }) => name === file.name && half === file.half);
  return [...read(folder, 'kind'), ...parts, ...read(packageParts(), 'part').filter(missing)];
}

function read(folder: string, role: TemplateFile['role']): TemplateFile[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.hbs'))
    .toSorted()
    .map((file) => {
      const path = shown(join(folder, file));
      const [, name, half] = named.exec(file) ?? [];
      if (name === undefined) {
        throw new EmailTemplateError(`${path}:1: a template is named <name>.text.hbs or <name>.html.hbs. Rename it.`);
      }
      return {
        path,
        name,
        half: half as TemplateFile['half'],
        role,
        source: readFileSync(join(folder, file), 'utf8').replaceAll('\r\n', '\n'),
      };
    });
}

/** From where the command was given. */
const shown = (path: string): string => relative(process.cwd(), path) || '.';

const within = join('templates', 'email', 'parts');

/** In the nearest folder above this file that has them: sources, a build and an installed package lie at different depths below it. */
function packageParts(): string {
  for (let above = __dirname; ; above = dirname(above)) {
    if (existsSync(join(above, within, 'layout.html.hbs'))) return join(above, within);
    if (dirname(above) === above) break;
  }
  throw new EmailTemplateError(
    'EmailModule needs the folder templates/email/parts of this package, and it is not beside its code. Leave the package out of ' +
      'your bundle, or copy the folder along.',
  );
}
