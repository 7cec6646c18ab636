import { InvalidDraftError } from '../errors';

/** Levels that a value may nest: far above any payload, far below the stacks of this walk and of PostgreSQL's parser. */
const maxDepth = 200;

/**
 * The JSON text of `value`, if it says exactly what `value` does and PostgreSQL can store it.
 *
 * JSON.stringify drops what it cannot say (`undefined`, functions, symbols) or says something else (NaN becomes null, a Map
 * becomes `{}`); a jsonb column refuses U+0000, and a lone surrogate would be replaced. Each of these is refused with its
 * path. A Date, and anything else with a `toJSON`, stands for what that returns.
 *
 * @param path how errors name the value, for example `payload`
 * @param limit bytes of UTF-8 that the text may have
 * @throws InvalidDraftError
 */
export function jsonText(value: unknown, path: string, limit: number, subject: string): string {
  const refuse = (at: string, rule: string): never => {
    throw new InvalidDraftError(at, rule, subject);
  };
  const plain = checked(value, path, new Set(), refuse);
  const text = JSON.stringify(plain);
  const size = Buffer.byteLength(text);
  if (size > limit) refuse(path, `must be at most ${limit} bytes of JSON, and is ${size}`);
  return text;
}

type Refuse = (at: string, rule: string) => never;

function checked(value: unknown, path: string, above: Set<object>, refuse: Refuse): unknown {
  switch (typeof value) {
    case 'string':
      return checkedText(value, path, refuse);
    case 'number':
      return Number.isFinite(value) ? value : refuse(path, `must be a finite number, and is ${value}`);
    case 'boolean':
      return value;
    case 'object':
      return value === null ? null : checkedObject(value, path, above, refuse);
    default:
      return refuse(
        path,
        `must be JSON, and is ${typeof value === 'undefined' ? 'undefined (leave it out)' : `a ${typeof value}`}`,
      );
  }
}

function checkedObject(value: object, path: string, above: Set<object>, refuse: Refuse): unknown {
  if (above.has(value)) return refuse(path, 'must not contain itself');
  if (above.size >= maxDepth) return refuse(path, `must not nest deeper than ${maxDepth} levels`);
  if (value instanceof Date && Number.isNaN(value.getTime())) return refuse(path, 'must be a valid date');
  above.add(value);
  const copy = copied(value, path, above, refuse);
  above.delete(value);
  return copy;
}

function copied(value: object, path: string, above: Set<object>, refuse: Refuse): unknown {
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return checked(toJSON.call(value, ''), path, above, refuse);
  if (Array.isArray(value)) {
    return Array.from(value, (element, index) => checked(element, `${path}[${index}]`, above, refuse));
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.prototype.toString.call(value) !== '[object Object]') {
    return refuse(path, `must be a plain object or an array, and is a ${value.constructor?.name ?? 'special object'}`);
  }
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, element] of Object.entries(value)) {
    checkedText(key, `the key ${JSON.stringify(key)} in ${path}`, refuse);
    copy[key] = checked(element, pathTo(path, key), above, refuse);
  }
  return copy;
}

const pathTo = (path: string, key: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;

/** Text that PostgreSQL stores as it is. */
export function checkedText(text: string, path: string, refuse: Refuse): string {
  if (text.includes('\0')) refuse(path, 'must not contain U+0000, which PostgreSQL cannot store');
  if (/\p{Surrogate}/u.test(text)) refuse(path, 'must not contain half of a surrogate pair');
  return text;
}
