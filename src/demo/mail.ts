/** A message as its recipient's mail program sees it. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  readonly messageId: string;
  /** By their names in lower case, unfolded. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  readonly html: string;
}

/** Reads a message of two alternatives, text and HTML (RFC 5322, RFC 2046). @param to from the envelope */
export function readMail(source: string, to: string): Mail {
  const { headers, body } = partOf(source);
  const boundary = /boundary="?([^";]+)"?/i.exec(headers.get('content-type') ?? '')?.[1];
  const parts = boundary === undefined ? [] : body.split(`--${boundary}`).slice(1, -1).map(partOf);
  const alternative = (type: string): string => {
    const part = parts.find((each) => each.headers.get('content-type')?.startsWith(type));
    return part ? decoded(part).replaceAll('\r\n', '\n') : '';
  };
  return {
    to,
    subject: decodedWords(headers.get('subject') ?? ''),
    messageId: headers.get('message-id') ?? '',
    headers,
    text: alternative('text/plain'),
    html: alternative('text/html'),
  };
}

interface Part {
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

function partOf(source: string): Part {
  const [head = '', ...rest] = source.replace(/^\r\n/, '').split('\r\n\r\n');
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { headers: new Map(headers), body: rest.join('\r\n\r\n') };
}

function decoded({ headers, body }: Part): string {
  switch (headers.get('content-transfer-encoding')?.toLowerCase()) {
    case 'base64':
      return Buffer.from(body, 'base64').toString('utf8');
    case 'quoted-printable':
      return quotedPrintable(body.replaceAll('=\r\n', ''));
    default:
      return body;
  }
}

/** RFC 2047: what a header holds beyond ASCII. */
const decodedWords = (text: string): string =>
  text
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, encoding: string, word: string) =>
      encoding.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString('utf8')
        : quotedPrintable(word.replaceAll('_', ' ')),
    );

const quotedPrintable = (text: string): string =>
  Buffer.from(
    text.replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8');
