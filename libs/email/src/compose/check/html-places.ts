/** Where in HTML a value stands, as far as escaping goes. */
export type Place =
  | { readonly is: 'text' }
  /** In quotes. @param whole nothing else is in them */
  | { readonly is: 'attribute'; readonly name: string; readonly whole: boolean }
  /** In a comment, a style, a script, or a tag outside quotes: escaping would not keep a value in there. */
  | { readonly is: 'nowhere' };

/** Comments, styles and scripts as a whole, and tags; what lies between them is text. */
const notText = /<!--.*?(?:-->|$)|<(style|script)\b.*?(?:<\/\1\s*>|$)|<\/?[a-z](?:"[^"]*"|'[^']*'|[^"'>])*>?/gis;
const attribute = /([^\s=<>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

/** A character of the private use area in the place of each value. */
const firstMark = 0xe000;
const marks = /[\uE000-\uF8FF]/g;

/** The HTML of a template as it is read, with a mark in the place of each value. */
export class HtmlPlaces {
  private html = '';
  private values = 0;

  content(text: string): void {
    this.html += text.replaceAll(marks, ' ');
  }

  /** @returns the number of the value */
  value(): number {
    this.html += String.fromCharCode(firstMark + this.values);
    this.values += 1;
    return this.values - 1;
  }

  /** Where each value stands, by its number; once everything has been read. */
  places(): Place[] {
    const places: Place[] = Array.from({ length: this.values }, () => ({ is: 'text' }));
    for (const [piece] of this.html.matchAll(notText)) {
      for (const mark of marksIn(piece)) places[mark] = { is: 'nowhere' };
      if (/^<(?:!--|style\b|script\b)/i.test(piece)) continue;
      for (const [, name, double, single] of piece.matchAll(attribute)) {
        const value = (double ?? single)!;
        for (const mark of marksIn(value)) {
          places[mark] = { is: 'attribute', name: name!.toLowerCase(), whole: value.length === 1 };
        }
      }
    }
    return places;
  }
}

const marksIn = (text: string): number[] =>
  Array.from(text.matchAll(marks), ([mark]) => mark.charCodeAt(0) - firstMark);
