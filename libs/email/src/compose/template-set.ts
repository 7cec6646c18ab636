import { create, type TemplateDelegate } from 'handlebars';
import type { EmailKind } from './email-kind';
import type { View } from './read-content';
import { parseTemplate, type TemplateFile } from './template-file';

type Render = (view: View) => string;

/** The two halves of a kind, and the subject. */
export interface Rendering {
  readonly subject: Render;
  readonly text: Render;
  readonly html: Render;
}

/** By the name of the kind. */
export type TemplateSet = ReadonlyMap<string, Rendering>;

// Only what templates are checked for: an unknown helper would be a field that is called.
const strictly = {
  strict: true,
  knownHelpersOnly: true,
  knownHelpers: { helperMissing: false, blockHelperMissing: false, with: false, log: false, lookup: false },
  preventIndent: true,
};

/**
 * Compiles checked templates, on a Handlebars for each half: values are escaped in HTML and left alone in text.
 *
 * @param files checked by `checkTemplates`
 * @param brand the sender's name, `@brand` in templates
 */
export function compileTemplates(
  kinds: readonly EmailKind[],
  files: readonly TemplateFile[],
  brand: string,
): TemplateSet {
  const compilers = { text: compilerOf('text', files, brand), html: compilerOf('html', files, brand) };
  return new Map(
    kinds.map(({ name }) => {
      const half = (each: 'text' | 'html'): TemplateFile =>
        files.find((file) => file.role === 'kind' && file.half === each && file.name === name)!;
      const text = parseTemplate(half('text'));
      const html = parseTemplate(half('html'));
      return [
        name,
        { subject: compilers.text(text.subject!), text: compilers.text(text.body), html: compilers.html(html.body) },
      ];
    }),
  );
}

function compilerOf(half: 'text' | 'html', files: readonly TemplateFile[], brand: string) {
  const handlebars = create();
  const options = { ...strictly, noEscape: half === 'text' };
  for (const file of files) {
    if (file.role !== 'part' || file.half !== half) continue;
    handlebars.registerPartial(file.name, handlebars.compile(parseTemplate(file).body, options));
  }
  return (program: hbs.AST.Program): Render => {
    const template: TemplateDelegate<View> = handlebars.compile(program, options);
    return (view) => template(view, { data: { brand } });
  };
}
