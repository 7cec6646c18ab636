/** One JSON document. Its own line breaks stay; every other such character is in a text, where JSON has the same escape. */
export const printJson = (value: unknown): void =>
  print(`${JSON.stringify(value, null, 2).split('\n').map(printable).join('\n')}\n`);

/** Rows under a line of headings. Cells of a terminal's line are cut; those of a file or a pipe never. */
export function printTable(headings: readonly string[], rows: readonly (readonly unknown[])[]): void {
  const most = process.stdout.isTTY ? 48 : Infinity;
  const cells = [headings, ...rows].map((row) => row.map((cell) => cut(textOf(cell), most)));
  const widths = headings.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  print(
    cells
      .map(
        (row) =>
          `${row
            .map((cell, column) => cell.padEnd(widths[column]!))
            .join('  ')
            .trimEnd()}\n`,
      )
      .join(''),
  );
}

/** A name and a value on each line. */
export function printFields(fields: readonly (readonly [string, unknown])[]): void {
  const width = Math.max(...fields.map(([name]) => name.length)) + 2;
  print(fields.map(([name, value]) => `${name.padEnd(width)}${textOf(value)}\n`).join(''));
}

export const print = (text: string): void => void process.stdout.write(text);

/** What a host recorded may hold anything, also what a terminal would take for a command. */
export const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  text.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return value.toISOString();
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
