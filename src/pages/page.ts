/** A page of plain HTML. @param parts HTML: nothing that a user wrote */
export const page = (title: string, ...parts: readonly string[]): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<h1>${title}</h1>
${parts.join('\n')}
</html>
`;
