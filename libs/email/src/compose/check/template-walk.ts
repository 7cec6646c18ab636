import type { TemplateFile } from '../template-file';
import { HtmlPlaces, type Place } from './html-places';
import { itemOf, scopeOf, type Scope, type Value } from './value';

/** Something that must be mended before a message can be sent. */
export interface TemplateProblem {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
}

/** A parsed part, by its name. */
export type Parts = ReadonlyMap<string, { readonly file: TemplateFile; readonly body: hbs.AST.Program }>;

type PartCall = hbs.AST.PartialStatement | hbs.AST.PartialBlockStatement;

/** Attributes that people read. Others do something with what they hold. */
const readable: readonly string[] = ['alt', 'title', 'aria-label'];
/** What Handlebars knows besides, for `{{#if}}` in an `{{#each}}`. */
const loopData: readonly string[] = ['first', 'last', 'index'];

/**
 * Reads one half of a kind, the parts that it uses included, and says which fields it uses and what is wrong with it.
 */
export class TemplateWalk {
  readonly problems: TemplateProblem[] = [];
  /** The line in which each field is used first, by its path. */
  readonly used = new Map<string, number>();
  private readonly open: TemplateFile[] = [];
  private line = 1;
  private html = new HtmlPlaces();
  private printed: { readonly value: Value | undefined; readonly line: number }[] = [];

  constructor(private readonly parts: Parts) {}

  /** A template as a whole, with what its names mean. */
  file(file: TemplateFile, body: hbs.AST.Program, scope: Scope): void {
    const { html, printed } = this;
    this.html = new HtmlPlaces();
    this.printed = [];
    this.open.push(file);
    this.program(body, scope);
    if (file.half === 'html') this.html.places().forEach((place, index) => this.checkPlace(place, index));
    this.open.pop();
    this.html = html;
    this.printed = printed;
  }

  /** The subject: one line of a header, so only what is one line itself. */
  subject(file: TemplateFile, body: hbs.AST.Program, scope: Scope): void {
    this.open.push(file);
    for (const statement of body.body) {
      const value = isMustache(statement) ? this.mustache(statement, scope) : undefined;
      const fits = statement.type === 'ContentStatement' || (isMustache(statement) && value?.shape.is === 'text');
      if (!fits && (value || !isMustache(statement))) {
        this.problem(1, 'the subject is a header: nothing but text and {{fields}} of one line can stand in it');
      }
    }
    this.open.pop();
  }

  private program(program: hbs.AST.Program | undefined, scope: Scope): void {
    if (!program) return;
    if (program.blockParams?.length) this.problem(lineOf(program), 'block parameters (`as |x|`) are not available');
    for (const statement of program.body) this.statement(statement, scope);
  }

  private statement(statement: hbs.AST.Statement, scope: Scope): void {
    switch (statement.type) {
      case 'ContentStatement':
        // Its type says otherwise, but this is the text before whitespace control.
        return this.html.content((statement as unknown as { readonly original: string }).original);
      case 'CommentStatement':
        return;
      case 'MustacheStatement':
        return this.print(this.mustache(statement as hbs.AST.MustacheStatement, scope), lineOf(statement));
      case 'BlockStatement':
        return this.block(statement as hbs.AST.BlockStatement, scope);
      case 'PartialStatement':
      case 'PartialBlockStatement':
        return this.part(statement as PartCall, scope);
      default:
        return this.problem(lineOf(statement), 'decorators are not available');
    }
  }

  private mustache(statement: hbs.AST.MustacheStatement, scope: Scope): Value | undefined {
    const line = lineOf(statement);
    if (!statement.escaped) {
      this.problem(line, 'a value is not escaped: write {{…}} in the place of {{{…}}} and {{&…}}');
    }
    if (statement.params.length > 0 || statement.hash) {
      this.problem(line, 'there are no helpers besides if, unless and each');
      return undefined;
    }
    return this.resolve(statement.path, scope);
  }

  /** Remembers what stands here: a value, or a part. */
  private stands(value: Value | undefined, line: number): void {
    this.printed[this.html.value()] = { value, line };
  }

  private print(value: Value | undefined, line: number): void {
    this.stands(value, line);
    if (value && value.shape.is !== 'text' && value.shape.is !== 'link') {
      this.problem(line, `${nameOf(value)} is ${value.shape.is === 'flag' ? 'for {{#if}}' : 'a list, for {{#each}}'}`);
    }
  }

  private block(block: hbs.AST.BlockStatement, scope: Scope): void {
    const helper = block.path.original;
    const line = lineOf(block);
    if (!['if', 'unless', 'each'].includes(helper) || block.params.length !== 1 || block.hash) {
      return this.problem(line, 'the blocks are {{#if field}}, {{#unless field}} and {{#each field}}');
    }
    const value = this.resolve(block.params[0]!, scope);
    if (helper !== 'each') this.program(block.program, scope);
    else if (value?.shape.is === 'each') this.program(block.program, scopeOf(itemOf(value, value.shape.of), scope));
    else if (value) this.problem(line, `${nameOf(value)} is no list, so {{#each}} has nothing to go through`);
    this.program(block.inverse, scope);
  }

  private part(statement: PartCall, scope: Scope): void {
    const line = lineOf(statement);
    const name = (statement.name as hbs.AST.PathExpression).original;
    this.stands(undefined, line);
    if (name !== '@partial-block') this.enter(name, line, this.passed(statement, scope));
    if (!('program' in statement)) return;
    const hidden = statement.hash?.pairs.find(({ key }) => scope.names.has(key));
    if (hidden) this.problem(line, `${hidden.key} is also a field, which the block would not see: name it otherwise`);
    this.program(statement.program, scope);
  }

  private enter(name: string, line: number, scope: Scope): void {
    const part = this.parts.get(name);
    if (!part) return this.problem(line, `there is no part "${name}" for this half`);
    if (this.open.includes(part.file)) return this.problem(line, `part "${name}" contains itself`);
    const caller = this.line;
    // Fields that a part uses are used where it is called.
    this.line = this.open.length === 1 ? line : this.line;
    this.file(part.file, part.body, scope);
    this.line = caller;
  }

  /** A part knows what it is passed and nothing else. What it is passed and does not use is not used. */
  private passed({ params, hash }: PartCall, scope: Scope): Scope {
    const [param] = params;
    const self = (param && this.find(param, scope)) ?? { shape: { is: 'fields', of: {} } };
    const names = (hash?.pairs ?? []).flatMap(({ key, value }): [string, Value][] => {
      const found = this.find(value, scope);
      return found ? [[key, found]] : [];
    });
    const inner = scopeOf(self);
    return { ...inner, names: new Map([...inner.names, ...names]) };
  }

  private resolve(expression: hbs.AST.Expression, scope: Scope): Value | undefined {
    const value = this.find(expression, scope);
    if (value) this.use(value, lineOf(expression));
    return value;
  }

  /** @returns undefined for what is a problem already */
  private find(expression: hbs.AST.Expression, scope: Scope): Value | undefined {
    if (expression.type === 'StringLiteral') return literalOf((expression as hbs.AST.StringLiteral).value);
    if (expression.type === 'BooleanLiteral') return { shape: { is: 'flag' } };
    if (expression.type !== 'PathExpression') {
      this.problem(lineOf(expression), 'only fields, texts, true and false can be used');
      return undefined;
    }
    const { data, depth, parts, original } = expression as hbs.AST.PathExpression;
    if (data) {
      if (parts.length === 1 && parts[0] === 'brand') return { shape: { is: 'text' } };
      if (parts.length === 1 && loopData.includes(parts[0]!)) return { shape: { is: 'flag' } };
      return this.unknown(expression, `${original} is not available; @brand, @first, @last and @index are`);
    }
    let place: Scope | undefined = scope;
    for (let up = depth; up > 0; up -= 1) place = place?.parent;
    const value = parts.length === 0 ? place?.self : parts.length === 1 ? place?.names.get(parts[0]!) : undefined;
    return value ?? this.unknown(expression, `there is no field "${original}"${known(place)}`);
  }

  private use({ path }: Value, line: number): void {
    if (path === undefined || this.used.has(path)) return;
    this.used.set(path, this.open.length > 1 ? this.line : line);
  }

  private unknown(expression: hbs.AST.Expression, rule: string): undefined {
    this.problem(lineOf(expression), rule);
    return undefined;
  }

  private checkPlace(place: Place, index: number): void {
    const { value, line } = this.printed[index]!;
    if (place.is === 'text') return;
    const text = value ? nameOf(value) : 'a part';
    if (place.is === 'nowhere') {
      return this.problem(
        line,
        `${text} is not escaped where it stands: put it into text or into an attribute in quotes`,
      );
    }
    if (!value) return this.problem(line, 'a part cannot stand in an attribute');
    const isLink = value.shape.is === 'link';
    if (place.name === 'href' ? isLink && place.whole : readable.includes(place.name)) return;
    const rule =
      place.name === 'href'
        ? `href must hold a link and nothing else, and ${text} is ${isLink ? 'not alone in it' : 'no link'}`
        : `${text} cannot stand in ${place.name}, whose value does something: only in ${readable.join(', ')} and href`;
    this.problem(line, rule);
  }

  private problem(line: number, rule: string): void {
    const { path } = this.open.at(-1)!;
    if (this.problems.some((each) => each.path === path && each.line === line && each.rule === rule)) return;
    this.problems.push({ path, line, rule });
  }
}

const isMustache = (statement: hbs.AST.Statement): statement is hbs.AST.MustacheStatement =>
  statement.type === 'MustacheStatement';

const lineOf = ({ loc }: hbs.AST.Node): number => loc.start.line;

const nameOf = ({ path }: Value): string => (path === undefined ? 'this value' : `"${path}"`);

/** A text that a template passes to a part: fixed, so it may also stand in a `href`. */
const literalOf = (text: string): Value => ({ shape: { is: /^https?:\/\//.test(text) ? 'link' : 'text' } });

const known = (scope: Scope | undefined): string =>
  scope && scope.names.size > 0 ? `; there are: ${[...scope.names.keys()].join(', ')}` : ' here';
