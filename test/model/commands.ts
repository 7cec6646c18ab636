import fc from 'fast-check';

/** Where a draft goes: three keys on two channels, and two places without a key. */
export const places = [
  { channel: 'mail', key: 'a' },
  { channel: 'mail', key: 'b' },
  { channel: 'hook', key: 'a' },
  { channel: 'mail', key: null },
  { channel: 'hook', key: null },
] as const;

export const channelNames = ['mail', 'hook'] as const;
export type ChannelName = (typeof channelNames)[number];

/** What a receiver answers, or the channel does. */
export const answers = ['succeeded', 'retry', 'failed', 'skipped', 'thrown', 'unavailable for an hour'] as const;
export type Answer = (typeof answers)[number];

/** What happens to the settle statement on its way, or to the process that waits for it. */
export const accidents = [
  'none',
  'the request is lost',
  'the reply is lost',
  'killed before the commit',
  'killed after the commit',
] as const;
export type Accident = (typeof accidents)[number];

/**
 * One step of a history. A `pick` chooses among what the step can be done to at that moment (the pick modulo their
 * number), so that a step keeps its meaning when steps before it are taken away; where there is nothing, it does nothing.
 */
export type Command =
  | { do: 'record'; session: number; how: 'plain' | 'recorder'; drafts: number[]; savepoint: 'none' | 'raw' | 'nested' }
  | { do: 'release' | 'roll back to savepoint'; pick: number }
  | { do: 'commit' | 'roll back' | 'kill the connection'; pick: number }
  | { do: 'claim' | 'claim heads'; replica: number; pick: number; slots: number }
  | { do: 'send' | 'give back'; pick: number; count: number }
  | { do: 'settle'; pick: number; answers: Answer[]; random: number; chain: boolean; accident: Accident }
  | { do: 'crash' | 'shut down'; replica: number }
  | { do: 'lease ends' | 'comes due' | 'grows too old' | 'retention passes'; pick: number }
  | { do: 'lock the row'; pick: number }
  | { do: 'unlock the row' }
  | { do: 'retry'; pick: number; restartAgeBehind: boolean }
  | { do: 'cancel'; pick: number }
  | { do: 'clean up'; monthLater: boolean };

type Member<C, Name> = C extends { do: infer Names } ? (Name extends Names ? C : never) : never;

/** The commands of a kind. */
export type Do<Name extends Command['do']> = Member<Command, Name>;

export const sessionCount = 4;
export const replicaCount = 2;

const pick = fc.nat({ max: 99 });
const replica = fc.nat({ max: replicaCount - 1 });
const few = fc.integer({ min: 1, max: 4 });
// Keys more often than none: most rules are about them.
const place = fc.constantFrom(0, 0, 0, 1, 1, 2, 2, 3, 3, 4);
const answer = fc.constantFrom<Answer>('succeeded', 'succeeded', 'succeeded', 'failed', 'failed', 'retry', ...answers);
const accident = fc.constantFrom<Accident>(...Array<Accident>(8).fill('none'), ...accidents);

/** A command of one of these names; the names' numbers say how often each comes. */
const named = <Name extends Command['do'], Rest extends object>(
  names: Record<Name, number>,
  rest: { [K in keyof Rest]: fc.Arbitrary<Rest[K]> },
) => {
  const all = Object.entries<number>(names) as [Name, number][];
  return {
    weight: all.reduce((sum, [, weight]) => sum + weight, 0),
    arbitrary: fc.record({
      do: fc.constantFrom(...all.flatMap(([name, weight]) => Array<Name>(weight).fill(name))),
      ...rest,
    }),
  };
};

const command = fc.oneof(
  named(
    { record: 18 },
    {
      session: fc.nat({ max: sessionCount - 1 }),
      how: fc.constantFrom('plain' as const, 'recorder' as const),
      savepoint: fc.constantFrom<'none' | 'raw' | 'nested'>('none', 'none', 'none', 'raw', 'nested'),
      drafts: fc.array(place, { minLength: 1, maxLength: 3, size: 'max' }),
    },
  ),
  named({ release: 1, 'roll back to savepoint': 4 }, { pick }),
  named({ commit: 16, 'roll back': 2, 'kill the connection': 1 }, { pick }),
  named({ claim: 6, 'claim heads': 14 }, { replica, pick, slots: few }),
  named({ send: 20, 'give back': 3 }, { pick, count: few }),
  named(
    { settle: 20 },
    {
      pick,
      answers: fc.array(answer, { minLength: 1, maxLength: 4, size: 'max' }),
      random: fc.nat({ max: 999 }).map((thousandths) => thousandths / 1_000),
      chain: fc.boolean(),
      accident,
    },
  ),
  named({ crash: 1, 'shut down': 1 }, { replica }),
  named({ 'lease ends': 12, 'comes due': 5, 'grows too old': 1, 'retention passes': 8 }, { pick }),
  named({ 'lock the row': 2 }, { pick }),
  named({ 'unlock the row': 2 }, {}),
  named({ retry: 4 }, { pick, restartAgeBehind: fc.boolean() }),
  named({ cancel: 4 }, { pick }),
  named({ 'clean up': 4 }, { monthLater: fc.boolean() }),
) as fc.Arbitrary<Command>;

/** Two arrays, whose lengths add up to 55 on average, since the length of one would often be near zero; shrinks to nothing. */
export const historyArbitrary: fc.Arbitrary<Command[]> = fc.noBias(
  fc
    .tuple(fc.array(command, { maxLength: 55, size: 'max' }), fc.array(command, { maxLength: 55, size: 'max' }))
    .map(([first, second]) => [...first, ...second]),
);
