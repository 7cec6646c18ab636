/** From figures to places on an axis. */
export interface Scale {
  place(figure: number): number;
  readonly ticks: readonly number[];
}

export type ScaleKind = 'linear' | 'log';

/** @param from the place of the least figure, @param to that of the greatest */
export function scale(kind: ScaleKind, figures: readonly number[], from: number, to: number): Scale {
  return kind === 'log' ? logScale(figures, from, to) : linearScale(figures, from, to);
}

/** From 0, so that a line that is twice as high is twice as much. */
function linearScale(figures: readonly number[], from: number, to: number): Scale {
  const step = niceStep(Math.max(...figures) / 4);
  const most = Math.ceil(Math.max(...figures) / step) * step;
  return {
    place: (figure) => from + (figure / most) * (to - from),
    ticks: Array.from({ length: Math.round(most / step) + 1 }, (_, index) => index * step),
  };
}

function logScale(figures: readonly number[], from: number, to: number): Scale {
  const least = Math.min(...figures);
  const most = Math.max(...figures);
  const span = Math.log(most / least) || 1;
  const decades = Array.from({ length: 14 }, (_, index) => 10 ** (index - 3));
  const fine = decades.flatMap((decade) => [1, 2, 5].map((digit) => digit * decade));
  const within = (ticks: readonly number[]): number[] =>
    ticks.filter((tick) => tick >= least * 0.999 && tick <= most * 1.001);
  return {
    place: (figure) => from + (Math.log(figure / least) / span) * (to - from),
    ticks: within(decades).length >= 3 ? within(decades) : within(fine),
  };
}

/** The least of 1, 2, 2.5, 5, 10 … that is no smaller. */
function niceStep(wanted: number): number {
  const decade = 10 ** Math.floor(Math.log10(wanted));
  return ([1, 2, 2.5, 5].find((digit) => digit * decade >= wanted) ?? 10) * decade;
}

/** `1.5 k`, `2 M`: short enough for an axis on a phone. */
export function short(figure: number): string {
  const units = [
    [1e6, ' M'],
    [1e3, ' k'],
  ] as const;
  const [size, unit] = units.find(([least]) => figure >= least) ?? [1, ''];
  return `${Math.round((figure / size) * 100) / 100}${unit}`;
}
