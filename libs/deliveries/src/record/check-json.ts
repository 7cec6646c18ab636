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
  const tooMuch = (size: number | string): never =>
    refuse(path, `must be at most ${limit} bytes of JSON, and is ${size}`);
  let left = limit;
  const spend = (bytes: number): void => {
    left -= bytes;
    if (left < 0) tooMuch('more');
  };
  const text = JSON.stringify(checked(value, path, { above: new Set(), spend, refuse }));
  const size = Buffer.byteLength(text);
  return size > limit ? tooMuch(size) : text;
}

type Refuse = (at: string, rule: string) => never;

interface Walk {
  readonly above: Set<object>;
  /** Counts bytes that the text has at least: sixty lists that each hold the next one twice would never be walked to the end. */
  readonly spend: (bytes: number) => void;
  readonly refuse: Refuse;
}

function checked(value: unknown, path: string, walk: Walk): unknown {
  const { refuse, spend } = walk;
  if (typeof value === 'object' && value !== null) return checkedObject(value, path, walk);
  spend(typeof value === 'string' ? value.length : 1);
  switch (typeof value) {
    case 'string':
      return checkedText(value, path, refuse);
    case 'number':
      return Number.isFinite(value) ? value : refuse(path, `must be a finite number, and is ${value}`);
    case 'boolean':
    case 'object': // null
      return value;
    default:
      return refuse(
        path,
        `must be JSON, and is ${typeof value === 'undefined' ? 'undefined (leave it out)' : `a ${typeof value}`}`,
      );
  }
}

function checkedObject(value: object, path: string, walk: Walk): unknown {
  const { above, refuse } = walk;
  if (above.has(value)) return refuse(path, 'must not contain itself');
  if (above.size >= maxDepth) return refuse(path, `must not nest deeper than ${maxDepth} levels`);
  if (value instanceof Date && Number.isNaN(value.getTime())) return refuse(path, 'must be a valid date');
  above.add(value);
  const copy = copied(value, path, walk);
  above.delete(value);
  return copy;
}

function copied(value: object, path: string, walk: Walk): unknown {
  const { refuse } = walk;
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON === 'function') return checked(toJSON.call(value, ''), path, walk);
  walk.spend(1);
  if (Array.isArray(value)) return Array.from(value, (element, index) => checked(element, `${path}[${index}]`, walk));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.prototype.toString.call(value) !== '[object Object]') {
    return refuse(path, `must be a plain object or an array, and is a ${value.constructor?.name ?? 'special object'}`);
  }
  if (Object.getOwnPropertySymbols(value).length > 0) return refuse(path, 'must not have symbols for keys');
  const copy: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [key, element] of Object.entries(value)) {
    checkedText(key, `the key ${JSON.stringify(key)} in ${path}`, refuse);
    walk.spend(key.length);
    copy[key] = checked(element, pathTo(path, key), walk);
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
