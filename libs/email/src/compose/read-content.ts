import { InvalidEmailError } from '../errors';
import type { Field, Fields } from './field';

/** What a template is given: fields that are absent are null, prose is a list of paragraphs, each a list of lines. */
export type View = Readonly<Record<string, unknown>>;

/**
 * Checks what a message says against the fields of its kind. Pure.
 *
 * @param path of the content, for errors
 * @throws InvalidEmailError that names the field and the rule, never the value
 */
export function readContent(fields: Fields, content: unknown, path = 'content'): View {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw new InvalidEmailError(path, 'must be an object with the fields of its kind');
  }
  const given = content as Record<string, unknown>;
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name));
  if (unknown !== undefined) {
    throw new InvalidEmailError(
      `${path}.${unknown}`,
      `is no field of its kind; fields are: ${Object.keys(fields).join(', ')}`,
    );
  }
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, readValue(field, given[name], `${path}.${name}`)]),
  );
}

function readValue(field: Field, value: unknown, path: string): unknown {
  switch (field.is) {
    case 'optional':
      return value === undefined || value === null ? null : readValue(field.of, value, path);
    case 'list':
      if (!Array.isArray(value)) throw new InvalidEmailError(path, 'must be a list');
      return value.map((each, index) => readContent(field.of, each, `${path}[${index}]`));
    case 'flag':
      if (typeof value !== 'boolean') throw new InvalidEmailError(path, 'must be true or false');
      return value;
    case 'link':
      return readLink(value, path);
    case 'prose':
      return paragraphsOf(requireText(value, path, /[^\P{Cc}\t\r\n]/u, 'must have no control characters'));
    case 'text':
      return requireText(value, path, /[\p{Cc}\u2028\u2029]/u, 'must be one line, without control characters');
  }
}

function requireText(value: unknown, path: string, forbidden: RegExp, rule: string): string {
  if (typeof value !== 'string') throw new InvalidEmailError(path, 'must be text');
  if (forbidden.test(value)) throw new InvalidEmailError(path, rule);
  return value;
}

/** @throws InvalidEmailError for anything but an absolute URL that a browser opens as a page */
export function readLink(value: unknown, path: string, protocols: readonly string[] = ['https:', 'http:']): string {
  // The URL parser drops tabs and line breaks, so that what it accepts is not what would be sent.
  if (typeof value === 'string' && !/[\s\p{Cc}<>"]/u.test(value) && URL.canParse(value)) {
    if (protocols.includes(new URL(value).protocol)) return value;
  }
  throw new InvalidEmailError(
    path,
    `must be an absolute ${protocols.join(' or ')} URL, with spaces and the like encoded`,
  );
}

/** Lines up to an empty one belong together. */
function paragraphsOf(text: string): string[][] {
  const paragraphs: string[][] = [[]];
  for (const line of text.split(/\r\n|\r|\n/).map((each) => each.trimEnd())) {
    if (line === '') paragraphs.push([]);
    else paragraphs.at(-1)!.push(line);
  }
  return paragraphs.filter((lines) => lines.length > 0);
}
