import { extras, goals } from '../goals';
import { rounded, type Measurement } from '../part';
import { parts } from '../parts/parts';
import type { Share } from '../profile/read-profile';
import { grouped } from './grouped';
import type { Picture } from './pictures';
import { verdict, type Result } from './result';
import { choosing, method } from './prose';

/** docs/performance.md: nothing in it that the result does not have. */
export function page(result: Result, pictures: readonly Picture[]): string {
  return [
    '# Performance',
    `<!-- Written by \`npm run bench -- --docs\`; not by hand. -->`,
    `Measured ${result.at.slice(0, 10)} with \`${result.command}\`, in ${Math.round(result.seconds / 60)} minutes.`,
    summary(result),
    '## Ratios',
    'Ours beside theirs, in one run. Higher is better in every row. _Must_ is what a change may not fall below, _aim_ where this project wants to stand.',
    ratioTable(result),
    '## How it was measured',
    method,
    machineTable(result),
    ...parts.flatMap(({ name, about }) => (name === 'curves' ? [] : partSection(name, about, result))),
    '## Curves',
    ...(pictures.length === 0 ? ['None were drawn in this run.'] : pictures.map(shown)),
    ...profileSection(result),
    '## When to choose something else',
    choosing,
    '',
  ].join('\n\n');
}

function summary({ missed, ratios, others }: Result): string {
  const judged = Object.keys(ratios).filter((name) => name in goals);
  const aims = judged.filter((name) => verdict(name, ratios[name]!) === 'aim reached');
  const count = `Of ${judged.length} ratios with a goal, ${aims.length} reach their aim and ${judged.length - missed.length} what they must.`;
  const misses = missed.length === 0 ? '' : ` Missed: ${missed.map(code).join(', ')}.`;
  const caveat =
    others.median > 0.3
      ? ` Other processes kept ${rounded(others.median)} cores busy meanwhile: on a quiet machine figures are others, and nearer to the truth.`
      : '';
  return count + misses + caveat;
}

function ratioTable({ ratios }: Result): string {
  const rows = Object.entries(ratios).map(([name, value]) => {
    const goal = goals[name];
    return [
      code(name),
      goal?.about ?? extras[name] ?? '',
      value.toFixed(2),
      goal?.must ?? '',
      goal?.aim ?? '',
      verdict(name, value).toLowerCase(),
    ];
  });
  return table(['', 'what', 'is', 'must', 'aim', ''], rows);
}

function machineTable({ machine, server, contenders, others, ours }: Result): string {
  return table(
    ['', ''],
    [
      ['machine', `${machine.cores} cores of ${machine.cpu}, ${machine.memoryGiB} GiB, ${machine.system}`],
      [
        'other processes',
        `${rounded(others.median)} cores busy at the median of all runs, ${rounded(others.most)} at most`,
      ],
      ['PostgreSQL', list(server)],
      ['packages', list(contenders)],
      ...(ours ? [['ours', `one worker with ${rounded(ours.slots)} slots, log levels ${ours.levels.join(', ')}`]] : []),
    ],
  );
}

const list = (entries: Readonly<Record<string, string>>): string =>
  Object.entries(entries)
    .map(([name, value]) => `\`${name}\` ${value}`)
    .join(', ');

/** One part: a table for each thing that is measured, a row for each contender. */
function partSection(name: string, about: string, { measured }: Result): string[] {
  const rows = measured.filter(({ part, unit }) => part === name && unit !== undefined);
  const tables = grouped(rows, ({ what }) => what).map(([what, of]) => measurementTable(what, of));
  return tables.length === 0 ? [] : [`## ${capital(about)}`, `\`npm run bench -- --only ${name}\``, ...tables];
}

function measurementTable(what: string, rows: readonly Measurement[]): string {
  const figures = [...new Map(rows.map(({ figure, unit }) => [figure, unit!]))];
  const cell = (contender: string, figure: string): string => {
    const row = rows.find((one) => one.contender === contender && one.figure === figure);
    if (!row) return '';
    return row.each.length > 1
      ? `${rounded(row.median)} (${rounded(row.least)} to ${rounded(row.most)})`
      : rounded(row.median);
  };
  return table(
    [what, ...figures.map(([figure, unit]) => (figure === 'rate' ? unit : [figure, unit].filter(Boolean).join(', ')))],
    [...new Set(rows.map(({ contender }) => contender))].map((contender) => [
      contender,
      ...figures.map(([figure]) => cell(contender, figure)),
    ]),
  );
}

const shown = ({ file, alt }: Picture): string => `![${alt}](performance/${file}.svg)`;

/** V8 counts what is C++ of its own, such as the parser of JSON, as its own. */
function profileSection({ profile }: Result): string[] {
  if (!profile) return [];
  const { idlePercent, modules, functions, seconds } = profile;
  return [
    '## Where the time goes',
    `A CPU profile of our drain of 100,000 (\`npm run bench -- --only drain --profile\`), start and stop included: ${seconds} s, in ${idlePercent} % of which the process waited. Self time, in percent of the rest; of our own code by room.`,
    shareTable(
      'module',
      modules.filter(({ percent }) => percent >= 0.5),
    ),
    'And by function, the first fifteen:',
    shareTable('function', functions.slice(0, 15)),
  ];
}

const shareTable = (what: string, shares: readonly Share[]): string =>
  table(
    [what, '% of the CPU time'],
    shares.map(({ name, percent }) => [code(name), percent.toFixed(1)]),
  );

const code = (name: string): string => `\`${name}\``;
const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
