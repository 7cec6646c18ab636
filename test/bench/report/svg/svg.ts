/** What every picture shares: colours for light and dark, a description for those who do not see it. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly title: string;
  /** In words, what is to be seen. */
  readonly description: string;
  readonly style?: string;
  readonly body: readonly string[];
}

// The background is painted: a page that is dark while the picture thinks it is light must not hide the ink.
const palette = `
svg { --paper: #ffffff; --ink: #1f2328; --faint: #6b7280; --grid: #d8dce2; --s0: #0b62d6; --s1: #b3541e; --s2: #1a7f37; --s3: #8250df }
@media (prefers-color-scheme: dark) {
  svg { --paper: #14181d; --ink: #e6e9ed; --faint: #9aa3ad; --grid: #333b44; --s0: #6cb0ff; --s1: #ffa36b; --s2: #5fd07a; --s3: #c9a6ff }
}
text { font: 14px system-ui, sans-serif; fill: var(--ink) }
.faint { fill: var(--faint) } .title { font-weight: 600; font-size: 16px } .paper { fill: var(--paper) } .grid { stroke: var(--grid) }`;

export function svg({ width, height, title, description, style = '', body }: Picture): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description">`,
    `<title id="title">${escaped(title)}</title>`,
    `<desc id="description">${escaped(description)}</desc>`,
    `<style>${palette}${style}\n</style>`,
    `<rect class="paper" width="${width}" height="${height}" rx="8"/>`,
    ...body,
    '</svg>',
    '',
  ].join('\n');
}

export const escaped = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

/** A coordinate: a tenth of a unit is finer than any screen. */
export const at = (number: number): string => String(Math.round(number * 10) / 10);

interface TextOptions {
  readonly anchor?: 'start' | 'middle' | 'end';
  readonly class?: string;
  readonly style?: string;
}

export function text(x: number, y: number, words: string, options: TextOptions = {}): string {
  const attributes = [
    options.anchor ? ` text-anchor="${options.anchor}"` : '',
    options.class ? ` class="${options.class}"` : '',
    options.style ? ` style="${options.style}"` : '',
  ].join('');
  return `<text x="${at(x)}" y="${at(y)}"${attributes}>${escaped(words)}</text>`;
}
