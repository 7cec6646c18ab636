import type { Field, Fields } from '../field';

/** What a template can do with a value. */
export type Shape =
  | { readonly is: 'text' | 'link' | 'flag' }
  | { readonly is: 'each'; readonly of: Shape }
  | { readonly is: 'fields'; readonly of: Fields };

/** A value that a template names: what it is, and which field of the kind it comes from, if from one. */
export interface Value {
  readonly shape: Shape;
  /** `link`, or `items[].name` for a field of the things in a list. */
  readonly path?: string | undefined;
}

/** What the names of a template mean in one place of it. */
export interface Scope {
  readonly self: Value;
  readonly names: ReadonlyMap<string, Value>;
  readonly parent?: Scope | undefined;
}

export const scopeOf = (self: Value, parent?: Scope): Scope => ({
  self,
  parent,
  names: new Map(
    self.shape.is !== 'fields'
      ? []
      : Object.entries(self.shape.of).map(([name, field]) => [
          name,
          { shape: shapeOf(field), path: self.path === undefined ? name : `${self.path}.${name}` },
        ]),
  ),
});

/** One of the things in a list. */
export const itemOf = ({ path }: Value, shape: Shape): Value => ({
  shape,
  path: path === undefined ? undefined : `${path}[]`,
});

function shapeOf(field: Field): Shape {
  switch (field.is) {
    case 'optional':
      return shapeOf(field.of);
    case 'list':
      return { is: 'each', of: { is: 'fields', of: field.of } };
    case 'prose':
      return { is: 'each', of: { is: 'each', of: { is: 'text' } } };
    default:
      return field;
  }
}
