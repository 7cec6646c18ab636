import type { DynamicModule, FactoryProvider, Type } from '@nestjs/common';

/** A password, in the place of everything: no sentence about an option that may hold one repeats what was given. */
export const password = 'hunter2';

/** What every option is tried with. */
export const nonsense = {
  null: null,
  'not a number': NaN,
  infinity: Infinity,
  'minus infinity': -Infinity,
  'a negative number': -1,
  'a fraction': 0.5,
  'a huge number': 1e300,
  'a bigint': 5n,
  true: true,
  false: false,
  'no text': '',
  'some text': `ftp://user:${password}@files.example`,
  'an object': { nonsense: 1 },
  'an empty object': {},
  'a list': [null],
  'an empty list': [],
  'a function': () => undefined,
  'a symbol': Symbol('nonsense'),
};

export type Nonsense = keyof typeof nonsense;

/** One option. */
export interface OptionRow {
  /** Each is good. */
  readonly takes: readonly unknown[];
  /** Without it there is no start. */
  readonly required?: true;
  /** What is good of the nonsense. */
  readonly sense?: readonly Nonsense[];
  /** Out of its bounds, each with words of the sentence that is said then. */
  readonly refuses?: readonly (readonly [value: unknown, words: string])[];
  /** What is given may hold a secret. */
  readonly secret?: true;
}

/** The options of one module or class. */
export interface OptionTable<Name extends string = string> {
  readonly of: string;
  /** As the code, and the table in the docs, have them. */
  readonly names: readonly Name[];
  readonly errors: readonly Type<Error>[];
  /** As few options as there must be. */
  readonly enough: Readonly<Record<string, unknown>>;
  readonly rows: Readonly<Record<Name, OptionRow>>;
  /** Options that are good one by one, with words of the sentence that is said of them together. */
  readonly contradictions?: readonly (readonly [options: object, words: string])[];
  /** Reads the options, as a start does. */
  readonly start: (options: object) => unknown;
}

/** For what has no list of names in the code: the type has them, and the compiler compares. */
export const namesOf = <Name extends string>(rows: Readonly<Record<Name, OptionRow>>): Name[] =>
  Object.keys(rows) as Name[];

/** Runs those providers of a module that make something of its options, and need nothing else. */
export function readOptionsOf({ providers = [] }: DynamicModule): void {
  const factories = providers.filter((provider): provider is FactoryProvider => 'useFactory' in Object(provider));
  const source = factories.find(({ inject }) => inject === undefined)!;
  const options: unknown = source.useFactory();
  for (const { inject = [], useFactory } of factories) {
    if (inject.length === 1 && inject[0] === source.provide) useFactory(options);
  }
}
