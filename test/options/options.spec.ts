import { nonsense, password, type Nonsense, type OptionRow, type OptionTable } from './option-table';
import { backchannelLogoutTable } from './tables/backchannel-logout';
import { channelTables } from './tables/channels';
import { deliveriesTables } from './tables/deliveries';
import { emailTables } from './tables/email';
import { outboundHttpTables } from './tables/outbound-http';
import { webhooksTables } from './tables/webhooks';

const tables: OptionTable[] = [
  ...deliveriesTables,
  ...channelTables,
  ...webhooksTables,
  ...emailTables,
  ...outboundHttpTables,
  backchannelLogoutTable,
];

/** What a start with these options says; undefined when it has nothing to say. */
function saidOf({ start, errors }: OptionTable, options: unknown): string | undefined {
  try {
    start(options as object);
    return undefined;
  } catch (error) {
    // A TypeError from the depths would be no answer.
    if (!errors.some((type) => error instanceof type)) throw error;
    return (error as Error).message;
  }
}

/** A sentence that names the option, and one, or the rest of the same, that says what to do. */
const tells = (said: string | undefined, name: string): boolean =>
  said !== undefined &&
  new RegExp(`\\b${name}\\b`).test(said) &&
  /(\. \p{Lu}|, got [^]*; |; the nearest )[^]*\.$/u.test(said);

describe.each(tables)('$of', (table) => {
  const { names, rows, enough, contradictions = [] } = table;
  const said = (name: string, value: unknown): string | undefined => saidOf(table, { ...enough, [name]: value });
  const each = names.map((name) => [name, rows[name]!] as const);

  it('has a row here for each of its options, and none for another', () => {
    expect(Object.keys(rows).toSorted()).toEqual([...names].toSorted());
    expect(saidOf(table, enough)).toBeUndefined();
  });

  it.each(each)('%s: takes what is good', (name, { takes, required }) => {
    expect(takes.length).toBeGreaterThan(0);
    for (const value of takes) expect([value, said(name, value)]).toEqual([value, undefined]);
    const without = said(name, undefined);
    expect([without, without !== undefined]).toEqual([without, required === true && tells(without, name)]);
  });

  it.each(each)('%s: refuses what is none, and says what to do', (name, { sense = [], secret }: OptionRow) => {
    const [taken, unclear, loud]: Nonsense[][] = [[], [], []];
    for (const [what, value] of Object.entries(nonsense) as [Nonsense, unknown][]) {
      const message = said(name, value);
      if (message === undefined) taken!.push(what);
      else if (!tells(message, name)) unclear!.push(what);
      else if (secret && message.includes(password)) loud!.push(what);
    }
    expect(taken!.toSorted()).toEqual([...sense].toSorted());
    expect(unclear).toEqual([]);
    expect(loud).toEqual([]);
  });

  it.each(each)('%s: refuses what is out of bounds, and a name that is nearly it', (name, { refuses = [] }) => {
    for (const [value, words] of refuses) {
      const message = said(name, value);
      expect(message).toContain(words);
      expect(tells(message, name) ? undefined : message).toBeUndefined();
    }
    const misspelt = saidOf(table, { ...enough, [`${name}x`]: 1 });
    expect(misspelt).toContain(`${name}x`);
    expect(misspelt).toMatch(new RegExp(`nearest .*\\b${name}\\b`));
  });

  it.each([null, [], 5, nonsense['some text']])('refuses %j in the place of its options', (options) => {
    const message = saidOf(table, options);
    expect(message).toMatch(/must be an object|must have a value|name must be/);
    expect(message).not.toContain(password);
  });

  it('refuses what contradicts itself', () => {
    for (const [options, words] of contradictions) {
      expect(saidOf(table, { ...enough, ...options })).toContain(words);
    }
  });
});
