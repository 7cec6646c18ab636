import type { Frame } from '../../profile/read-profile';
import { at, escaped, svg, text } from './svg';

const width = 960;
const row = 20;
const top = 44;

/** Calls below their caller, as wide as their share of the time; the full name and figure is in each one's tooltip. */
export function flameGraph(title: string, root: Frame): string {
  const boxes: string[] = [];
  let deepest = 0;
  const draw = (frame: Frame, left: number, depth: number): void => {
    deepest = Math.max(deepest, depth);
    const wide = (frame.percent / root.percent) * (width - 16);
    boxes.push(box(frame, 8 + left, top + depth * row, wide));
    let next = left;
    for (const call of frame.calls.toSorted((a, b) => b.percent - a.percent)) {
      draw(call, next, depth + 1);
      next += (call.percent / root.percent) * (width - 16);
    }
  };
  draw(root, 0, 0);
  return svg({
    width,
    height: top + (deepest + 1) * row + 10,
    title,
    description: 'Calls are below their callers, as wide as their share of the CPU time.',
    style: '\nrect.call { stroke: var(--paper); fill-opacity: 0.35 } g text { font-size: 12px }',
    body: [text(12, 28, title, { class: 'title' }), ...boxes],
  });
}

function box({ name, module, percent }: Frame, left: number, y: number, wide: number): string {
  // About 6.6 units a letter.
  const letters = Math.floor((wide - 6) / 6.6);
  const label =
    letters < 3 ? '' : text(left + 4, y + 14, name.length > letters ? `${name.slice(0, letters - 1)}…` : name);
  const words = [name, module && `(${module})`, `${percent.toFixed(1)} %`].filter(Boolean).join(' ');
  return `<g><title>${escaped(words)}</title><rect class="call" x="${at(left)}" y="${y}" width="${at(wide)}" height="${row}" style="fill: var(--s${colour(module)})"/>${label}</g>`;
}

/** Ours, the database driver, Node and V8, everything else. */
function colour(module: string): number {
  if (module.startsWith('deliveries')) return 0;
  if (module.startsWith('pg') || module.startsWith('postgres')) return 1;
  return module.startsWith('node:') || module === 'V8' || module.startsWith('(') ? 2 : 3;
}
