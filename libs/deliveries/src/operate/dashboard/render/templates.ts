import { create, type TemplateDelegate } from 'handlebars';
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { runInThisContext } from 'node:vm';
import type { TemplateName } from '../pages/page';
import { dashboardFolder, readDashboardFile } from './dashboard-files';

/** Data in, HTML out; every value in it is escaped. */
export type Renderer = (template: TemplateName, data: object) => string;

/**
 * Compiles all templates at once, on a Handlebars of their own, so that a mistake in one of them is a failed start. A value that
 * a template names and its data lacks is an error, not an empty place.
 */
export function compileTemplates(): Renderer {
  const handlebars = create();
  const compile = (...path: string[]): TemplateDelegate<object> => {
    const source = readDashboardFile(...path).trim();
    const options = { strict: true, knownHelpersOnly: true, preventIndent: true };
    // Its type says what the text is once it has been run.
    const code = handlebars.precompile(source, options) as unknown as string;
    return handlebars.template(runInThisContext(`(${code})`) as TemplateSpecification);
  };
  handlebars.registerPartial('layout', compile('layout.hbs'));
  for (const name of namesIn('parts')) handlebars.registerPartial(name, compile('parts', `${name}.hbs`));
  const pages = new Map(namesIn('pages').map((name) => [name, compile('pages', `${name}.hbs`)]));
  return (template, data) => pages.get(template)!(data);
}

const namesIn = (folder: string): string[] =>
  readdirSync(join(dashboardFolder(), folder)).map((name) => basename(name, '.hbs'));
