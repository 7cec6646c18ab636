import { scale, short, type ScaleKind } from './scale';
import { at, svg, text } from './svg';

export interface LineChart {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  readonly x: ScaleKind;
  readonly y: ScaleKind;
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

// Narrow, so that its letters are still letters at the width of a phone.
const width = 480;
const height = 360;
const plot = { left: 62, right: width - 20, top: 86, bottom: height - 52 };

/** Each line has a colour, dashes and marks of its own: no two differ by colour alone. */
const dashes = ['', '7 4', '2 4', '10 3 2 3'];

export function lineChart({ title, xTitle, yTitle, x, y, series }: LineChart): string {
  const points = series.flatMap((line) => line.points);
  const xs = scale(
    x,
    points.map(([first]) => first),
    plot.left,
    plot.right,
  );
  const ys = scale(
    y,
    points.map(([, second]) => second),
    plot.bottom,
    plot.top,
  );
  const grid = ys.ticks.flatMap((tick) => [
    `<line class="grid" x1="${plot.left}" x2="${plot.right}" y1="${at(ys.place(tick))}" y2="${at(ys.place(tick))}"/>`,
    text(plot.left - 8, ys.place(tick) + 5, short(tick), { anchor: 'end', class: 'faint' }),
  ]);
  const bottom = xs.ticks.map((tick) =>
    text(xs.place(tick), plot.bottom + 20, short(tick), { anchor: 'middle', class: 'faint' }),
  );
  const lines = series.map(({ points: of }, index) => {
    const places = of.map(([first, second]) => `${at(xs.place(first))},${at(ys.place(second))}`);
    const marks = places.map((place) => {
      const [cx, cy] = place.split(',');
      return `<circle cx="${cx}" cy="${cy}" r="3.5" style="fill: var(--s${index})"/>`;
    });
    const line = `<polyline points="${places.join(' ')}" style="stroke: var(--s${index})" stroke-dasharray="${dashes[index]}"/>`;
    return [line, ...marks].join('');
  });
  return svg({
    width,
    height,
    title,
    description: series.map((line) => described(line, xTitle, yTitle)).join(' '),
    style: '\npolyline { fill: none; stroke-width: 2.5; stroke-linejoin: round }',
    body: [
      text(16, 28, title, { class: 'title' }),
      ...legend(series),
      text(plot.left, plot.top - 10, yTitle, { class: 'faint', anchor: 'start' }),
      ...grid,
      ...bottom,
      text((plot.left + plot.right) / 2, height - 12, xTitle, { anchor: 'middle', class: 'faint' }),
      ...lines,
    ],
  });
}

function legend(series: readonly Series[]): string[] {
  // Places by the length of the names before, at about 7.5 units a letter.
  let left = 16;
  return series.map(({ name }, index) => {
    const mark = `<line x1="${left}" x2="${left + 22}" y1="48" y2="48" style="stroke: var(--s${index})" stroke-width="3" stroke-dasharray="${dashes[index]}"/>`;
    const words = text(left + 28, 53, name);
    left += 28 + name.length * 7.5 + 16;
    return mark + words;
  });
}

const described = ({ name, points }: Series, xTitle: string, yTitle: string): string =>
  `${name}: ${points.map(([x, y]) => `${short(y)} ${yTitle} at ${short(x)} ${xTitle}`).join(', ')}.`;
