/** What a value in a template is. */
export type Field =
  | { readonly is: 'text' }
  | { readonly is: 'prose' }
  | { readonly is: 'link' }
  | { readonly is: 'flag' }
  | { readonly is: 'list'; readonly of: Fields }
  | { readonly is: 'optional'; readonly of: Exclude<Field, { is: 'optional' }> };

export type Fields = Readonly<Record<string, Field>>;

/** The fields that a message kind is made of. */
export const field = {
  /** One line of text: no line break and no other control character, so that it may stand in the subject. */
  text: { is: 'text' },
  /** Text of several paragraphs, parted by empty lines. A template gets a list of paragraphs, each a list of lines. */
  prose: { is: 'prose' },
  /** An absolute `https:` or `http:` URL: what may stand in a `href`, and nothing else may. */
  link: { is: 'link' },
  /** A boolean, for `{{#if}}`. */
  flag: { is: 'flag' },
  /** A list of things that have fields of their own, for `{{#each}}`. */
  list: <F extends Fields>(of: F) => ({ is: 'list', of }) as const,
  /** May be absent; `{{#if}}` tells. */
  optional: <F extends Exclude<Field, { is: 'optional' }>>(of: F): { readonly is: 'optional'; readonly of: F } => ({
    is: 'optional',
    of,
  }),
} as const satisfies Record<string, Field | ((of: never) => Field)>;

/** The type of what a field holds. */
export type ValueOf<F extends Field> = F extends { is: 'optional'; of: infer Inner extends Field }
  ? ValueOf<Inner> | null | undefined
  : F extends { is: 'list'; of: infer Inner extends Fields }
    ? readonly ValuesOf<Inner>[]
    : F extends { is: 'flag' }
      ? boolean
      : string;

type OptionalNames<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { is: 'optional' } ? Name : never;
}[keyof F];

/** The type of an object that has these fields. */
export type ValuesOf<F extends Fields> = {
  readonly [Name in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[Name]>;
} & { readonly [Name in OptionalNames<F>]?: ValueOf<F[Name]> };
