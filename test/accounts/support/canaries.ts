import type { TestDatabase } from '../../support/test-database';

/** What a text looks like in other clothes: as it is, in JSON, in hex, and in base64 and base64url wherever in a longer text it begins. */
export function formsOf(text: string): string[] {
  const bytes = Buffer.from(text);
  const shifted = [0, 1, 2].map((shift) => {
    // Whole groups of three bytes encode the same whatever surrounds them.
    const skipped = (3 - shift) % 3;
    const whole = bytes.subarray(skipped, bytes.length - ((bytes.length - skipped) % 3));
    return whole.toString('base64');
  });
  const encoded = shifted.flatMap((each) => [each, each.replaceAll('+', '-').replaceAll('/', '_')]);
  const hex = bytes.toString('hex');
  const forms = [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text), hex, hex.toUpperCase(), ...encoded];
  // Of a short text nothing may be left at some beginning, and nothing is found everywhere.
  return [...new Set(forms)].filter((form) => form !== '');
}

/** Which of these secrets a text holds, in any form. */
export const foundIn = (haystack: string, secrets: Readonly<Record<string, string>>): string[] =>
  Object.entries(secrets)
    .filter(([, secret]) => formsOf(secret).some((form) => haystack.includes(form)))
    .map(([name]) => name);

/** Every row of every table of these schemas, as text, under the name of its table. */
export async function rowsOf(
  database: Pick<TestDatabase, 'query'>,
  schemas: readonly string[],
): Promise<{ table: string; row: string }[]> {
  const tables = await database.query<{ name: string }>(
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname = ANY($1) ORDER BY 1`,
    [schemas],
  );
  const all = tables.map(({ name }) => `SELECT '${name}' AS table, t::text AS row FROM ${name} AS t`);
  return database.query(all.join(' UNION ALL '));
}

/** A key or a token, which is bytes in base64 of either alphabet: under its name, with the other spellings of these bytes. */
export function spelt(name: string, text: string): Record<string, string> {
  const bytes = Buffer.from(text.replace(/^whsec_/, ''), 'base64');
  const spellings = [text, ...(['hex', 'base64', 'base64url'] as const).map((encoding) => bytes.toString(encoding))];
  return Object.fromEntries(spellings.map((spelling, index) => [index === 0 ? name : `${name} (${index})`, spelling]));
}
