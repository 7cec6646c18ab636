import { goals } from '../goals';
import { rounded, type Measurement } from '../part';
import { verdict, type Result } from './result';

/** The result for a terminal: medians with their spread, then the ratios with what they are to reach. */
export function textReport({ measured, ratios, missed, seconds, others, profile }: Result): string {
  const named = measured.filter(({ unit }) => unit !== undefined);
  const subjects = [...new Set(named.map(({ what }) => what))];
  const blocks = subjects.map((what) =>
    [what, ...named.filter((row) => row.what === what).map((row) => `  ${measurementLine(row)}`)].join('\n'),
  );
  const profiled = profile ? ['', 'CPU of our drain, by module', ...profile.modules.map(moduleLine)] : [];
  return [...blocks, ...profiled, '', ratioTable(ratios), '', conclusion(missed, seconds), othersLine(others), ''].join(
    '\n',
  );
}

function measurementLine({ contender, figure, unit, median, least, most, each }: Measurement): string {
  const spread = each.length > 1 ? `${rounded(least)} to ${rounded(most)}` : '';
  return `${contender.padEnd(32)}${figure.padEnd(22)}${rounded(median).padStart(10)} ${unit!.padEnd(16)}${spread}`.trimEnd();
}

const moduleLine = ({ name, percent }: { name: string; percent: number }): string =>
  `  ${name.padEnd(48)}${percent.toFixed(1).padStart(6)} %`;

function ratioTable(ratios: Result['ratios']): string {
  const head = `${'ratio'.padEnd(28)}${'is'.padStart(8)}${'must'.padStart(8)}${'aim'.padStart(8)}`;
  const rows = Object.entries(ratios).map(([name, value]) => {
    const goal = goals[name];
    const cell = (number: number | undefined): string => (number === undefined ? '' : String(number)).padStart(8);
    return `${name.padEnd(28)}${value.toFixed(3).padStart(8)}${cell(goal?.must)}${cell(goal?.aim)}  ${verdict(name, value)}`.trimEnd();
  });
  return [head, ...rows].join('\n');
}

function conclusion(missed: readonly string[], seconds: number): string {
  const took = `Took ${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s.`;
  return missed.length === 0 ? `${took} No must was missed.` : `${took} Missed musts: ${missed.join(', ')}.`;
}

const othersLine = ({ median, most }: Result['others']): string =>
  `Other processes kept ${rounded(median)} cores busy meanwhile (median of all runs), and ${rounded(most)} at most.`;
