import { checkTemplateFolder, EmailTemplateError } from 'nest-deliveries/email';
import { checkTemplates } from '../../libs/email/src/compose/check/check-templates';
import { loadTemplates, readTemplates } from '../../libs/email/src/compose/load-templates';
import type { TemplateFile } from '../../libs/email/src/compose/template-file';
import { announcement } from '../../src/mail/message-kinds';
import { endOf, spawnTs } from '../support/ts-child';
import { messageKinds } from './fixtures/broken/kinds';
import { receipt, templates } from './support/kinds';

const broken = 'test/email/fixtures/broken';

const problems = [
  `${broken}/fields-differ.text.hbs:3: uses the field "name", which ${broken}/fields-differ.html.hbs does not use: both must say the same`,
  `${broken}/header-injection.text.hbs:2: must be empty: no header but the subject is set by a template`,
  `${broken}/missing-half.html.hbs:1: is missing: kind "missing-half" needs a text and an HTML template`,
  `${broken}/nobodys.html.hbs:1: there is no message kind "nobodys": add it, or remove the template`,
  `${broken}/unescaped.html.hbs:2: a value is not escaped: write {{…}} in the place of {{{…}}} and {{&…}}`,
  `${broken}/unknown-field.html.hbs:3: there is no field "handle"; there are: name, link`,
];

describe('templates that do not fit', () => {
  it('fail the build, with file and line', async () => {
    const child = spawnTs('scripts/check-templates.ts', {
      args: [broken, `${broken}/kinds.ts`],
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    expect(await endOf(child)).toMatchObject({ code: 1, stdout: '', stderr: `${problems.join('\n')}\n` });
  });

  it('fail the start, with the same words', () => {
    const start = (): unknown => loadTemplates(broken, messageKinds, 'Example');
    expect(start).toThrow(EmailTemplateError);
    expect(start).toThrow(problems.join('\n'));
  });

  it('of announcements are checked like any others', () => {
    const [folder, half] = ['test/email/fixtures/broken-announcement', 'test/email/fixtures/half-announcement'];
    expect(checkTemplateFolder(folder, [announcement])).toEqual([
      `${folder}/announcement.html.hbs:2: a value is not escaped: write {{…}} in the place of {{{…}}} and {{&…}}`,
      `${folder}/announcement.html.hbs:5: there is no field "sender"; there are: handle, subject, text, inbox, unsubscribe`,
      `${folder}/announcement.text.hbs:2: must be empty: no header but the subject is set by a template`,
      `${folder}/announcement.text.hbs:9: uses the field "unsubscribe", which ${folder}/announcement.html.hbs does not use: both must say the same`,
    ]);
    expect(checkTemplateFolder(half, [announcement])).toEqual([
      `${half}/announcement.html.hbs:1: is missing: kind "announcement" needs a text and an HTML template`,
    ]);
  });

  it('are told from those that do', () => {
    expect(checkTemplateFolder(templates, [receipt])).toEqual([]);
  });

  it('are named as their kinds', () => {
    expect(() => readTemplates('templates/dashboard')).toThrow(
      'templates/dashboard/parts/chart.hbs:1: a template is named <name>.text.hbs or <name>.html.hbs. Rename it.',
    );
  });
});

// Each row changes a template that is in order, at one place.
describe('a template with', () => {
  const files = readTemplates(templates);

  /** What is wrong after `from` was replaced in a template. */
  function after(file: string, from: string, to: string): string[] {
    const changed = files.map((each): TemplateFile => {
      if (!each.path.endsWith(file)) return each;
      expect(each.source).toContain(from);
      return { ...each, source: each.source.replace(from, to) };
    });
    return checkTemplates([receipt], changed).map(
      ({ path, line, rule }) => `${path.split('/').at(-1)!}:${line}: ${rule}`,
    );
  }

  const html = 'receipt.html.hbs';
  const text = 'receipt.text.hbs';

  const wrong: [what: string, file: string, from: string, to: string, problem: string][] = [
    ['an unescaped value by &', html, '{{customer}}', '{{&customer}}', `${html}:3: a value is not escaped`],
    [
      'an unescaped value in text',
      text,
      'Hello {{customer}}',
      'Hello {{{customer}}}',
      `${text}:4: a value is not escaped`,
    ],
    [
      'an unescaped value in a part',
      'button.html.hbs',
      '{{label}}',
      '{{{label}}}',
      'button.html.hbs:3: a value is not escaped',
    ],
    [
      'a value in a style',
      html,
      '<ul style="margin: 0 0 16px;',
      '<ul style="margin: {{customer}};',
      `${html}:5: "customer" cannot stand in style`,
    ],
    [
      'a value in an attribute without quotes',
      html,
      '<ul ',
      '<ul title={{customer}} ',
      `${html}:5: "customer" is not escaped where it stands`,
    ],
    [
      'a value for an attribute',
      html,
      '<ul ',
      '<ul {{customer}} ',
      `${html}:5: "customer" is not escaped where it stands`,
    ],
    [
      'a value in a handler',
      html,
      '<ul ',
      '<ul onclick="{{customer}}" ',
      `${html}:5: "customer" cannot stand in onclick`,
    ],
    [
      'a value in a style sheet',
      html,
      '<ul ',
      '<style>p { color: {{customer}} }</style><ul ',
      `${html}:5: "customer" is not escaped where it stands`,
    ],
    [
      'a value in a script',
      html,
      '<ul ',
      '<script>"{{customer}}"</script><ul ',
      `${html}:5: "customer" is not escaped where it stands`,
    ],
    [
      'a value in a comment',
      html,
      '<ul ',
      '<!-- {{customer}} --><ul ',
      `${html}:5: "customer" is not escaped where it stands`,
    ],
    [
      'a text for a href',
      html,
      '<ul ',
      '<a href="{{customer}}">x</a><ul ',
      `${html}:5: href must hold a link and nothing else, and "customer" is no link`,
    ],
    [
      'a text for a href, through a part',
      html,
      'href=link',
      'href=customer',
      'button.html.hbs:3: href must hold a link',
    ],
    [
      'more than a link in a href',
      html,
      '<ul ',
      '<a href="https://x.example/?to={{link}}">x</a><ul ',
      `${html}:5: href must hold a link and nothing else, and "link" is not alone`,
    ],
    [
      'a part in an attribute',
      html,
      '<ul ',
      '<ul title="{{> title text=customer}}" ',
      `${html}:5: a part cannot stand in an attribute`,
    ],
    [
      'an unknown field',
      html,
      '{{customer}}',
      '{{custmer}}',
      `${html}:3: there is no field "custmer"; there are: customer, message, link, items, coupon`,
    ],
    [
      'an unknown field of a thing in a list',
      text,
      '- {{name}}',
      '- {{title}}',
      `${text}:9: there is no field "title"; there are: name, gift`,
    ],
    [
      'an unknown field that every object has',
      html,
      '{{customer}}',
      '{{constructor}}',
      `${html}:3: there is no field "constructor"`,
    ],
    [
      'a field of a field',
      html,
      '{{customer}}',
      '{{customer.length}}',
      `${html}:3: there is no field "customer.length"`,
    ],
    [
      'a field that a part is not passed',
      'title.html.hbs',
      '{{text}}',
      '{{text}}{{customer}}',
      'title.html.hbs:1: there is no field "customer"',
    ],
    [
      'a field that one half lacks',
      text,
      'Hello {{customer}},',
      'Hello,',
      `${html}:3: uses the field "customer", which `,
    ],
    ['a field in the subject alone', text, 'Hello {{customer}},', 'Hello,', `${html}:3: uses the field "customer"`],
    [
      'a field of a thing that one half lacks',
      text,
      '{{#if gift}} (a gift){{/if}}',
      '',
      `${html}:7: uses the field "items[].gift"`,
    ],
    ['a field that one half lacks, in a part', html, '{{> prose message}}', '', `${text}:6: uses the field "message"`],
    ['a list in the place of a text', html, '{{customer}}', '{{items}}', `${html}:3: "items" is a list, for {{#each}}`],
    [
      'a flag in the place of a text',
      text,
      '- {{name}}',
      '- {{name}}{{gift}}',
      `${text}:9: "items[].gift" is for {{#if}}`,
    ],
    [
      'a text in the place of a list',
      html,
      '{{#each items}}',
      '{{#each customer}}',
      `${html}:6: "customer" is no list`,
    ],
    [
      'a helper',
      html,
      '{{customer}}',
      '{{lookup this "customer"}}',
      `${html}:3: there are no helpers besides if, unless and each`,
    ],
    [
      'a block that is none',
      html,
      '{{#if gift}} (a gift){{/if}}',
      '{{#with gift}} (a gift){{/with}}',
      `${html}:7: the blocks are`,
    ],
    ['a decorator', html, '{{customer}}', '{{* inline "x"}}', `${html}:3: decorators are not available`],
    ['the root', html, '{{customer}}', '{{@root.customer}}', `${html}:3: @root.customer is not available`],
    ['a part that is not there', html, '{{> title ', '{{> headline ', `${html}:2: there is no part "headline"`],
    [
      'a part of the other half',
      text,
      '{{> prose message}}',
      '{{> title text="x"}}',
      `${text}:6: there is no part "title"`,
    ],
    [
      'a part that contains itself',
      'title.html.hbs',
      '{{text}}',
      '{{> title text=text}}',
      'title.html.hbs:1: part "title" contains itself',
    ],
    [
      'a part that hides a field from its block',
      html,
      '{{#> note}}',
      '{{#> note coupon="x"}}',
      `${html}:12: coupon is also a field`,
    ],
    ['no subject', text, 'Subject: Your order, {{customer}}', 'Hello', `${text}:1: must begin with "Subject: …"`],
    [
      'an empty subject',
      text,
      'Subject: Your order, {{customer}}',
      'Subject: ',
      `${text}:1: must begin with "Subject: …"`,
    ],
    [
      'a subject of an unknown field',
      text,
      'order, {{customer}}',
      'order, {{custmer}}',
      `${text}:1: there is no field "custmer"`,
    ],
    [
      'a subject of several lines',
      text,
      'order, {{customer}}',
      'order, {{message}}',
      `${text}:1: the subject is a header`,
    ],
    [
      'a block in the subject',
      text,
      'order, {{customer}}',
      'order{{#if coupon}}!{{/if}}',
      `${text}:1: the subject is a header`,
    ],
    [
      'a subject that is not escaped',
      text,
      'order, {{customer}}',
      'order, {{{customer}}}',
      `${text}:1: a value is not escaped`,
    ],
    [
      'a carriage return in the subject',
      text,
      'Your order',
      'Your\rBcc: x@y.example order',
      `${text}:1: the subject is a header`,
    ],
    [
      'a header below the subject',
      text,
      '{{customer}}\n',
      '{{customer}}\nBcc: x@y.example\n',
      `${text}:2: must be empty`,
    ],
    ['a mistake in its syntax', html, '{{/layout}}', '', `${html}:`],
  ];

  const fine: [what: string, file: string, from: string, to: string][] = [
    ['a value that people read in quotes', html, '<ul ', '<ul title="{{customer}}" '],
    ['a value after an attribute that holds a >', html, '<ul ', '<i title="a > b">{{customer}}</i><ul '],
    ['a field from outside a list', html, '<li>{{name}}', '<li>{{../customer}} {{name}}'],
    [
      'a field that is passed and not used',
      html,
      '{{> title text="Thank you"}}',
      '{{> title text="Thank you" more=coupon}}',
    ],
  ];

  it.each(wrong)('%s', (_what, file, from, to, problem) => {
    const found = after(file, from, to);
    expect(found.find((each) => each.startsWith(problem)) ?? found).toEqual(expect.stringContaining(problem));
  });

  it.each(fine)('%s is in order', (_what, file, from, to) => {
    expect(after(file, from, to)).toEqual([]);
  });
});
