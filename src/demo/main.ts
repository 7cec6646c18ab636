import 'reflect-metadata';
import { firstSignal } from '../end-in-order';
import { accountTable } from './account-table';
import { Stage } from './stage';
import { Story } from './story';
import { table } from './table';
import { verdict } from './verdict';
import { webhookTable } from './webhook-table';

const width = 100;

/** `npm run demo`: exit code 0 if every promise was kept, 1 if one was not, 130 after Ctrl-C. */
async function main(): Promise<number> {
  const signalled = firstSignal();
  const began = performance.now();
  say(
    'Setting the stage: a database, an authority for test certificates, HTTPS receivers and a mail server on this machine.',
  );
  const stage = await Stage.set();
  try {
    say(`The database is ${stage.database.where}.`);
    const facts = await Promise.race([new Story(stage, say).tell(), signalled]);
    if (!facts) return 130;
    const problems = verdict(facts);
    console.log(['', ...table(facts), ''].join('\n'));
    say('DELIVERY is the end of its id. An attempt that "crashed" had no outcome when its lease ended.');
    say('SEEN is what the receiver had in full; it tells duplicates by the id, the same on every attempt.');
    console.log(['', ...accountTable(facts.accounts), '', ...webhookTable(facts.webhooks), ''].join('\n'));
    for (const problem of problems) say(`WRONG: ${problem}`);
    const seconds = ((performance.now() - began) / 1_000).toFixed(0);
    if (problems.length === 0) {
      say(
        `As promised, in ${seconds} s: everything that was committed has arrived, nothing that was rolled back has, and what ` +
          'arrived twice carried the same delivery id.',
      );
    }
    return problems.length === 0 ? 0 : 1;
  } finally {
    await stage.clear();
  }
}

/** Prints a paragraph. Its own indentation goes on below the first line. */
function say(text: string): void {
  const indent = /^(Act \d\. )? */.exec(text)![0].length;
  let line = ' '.repeat(indent);
  const lines: string[] = [];
  for (const word of text.slice(indent).split(' ')) {
    if (line.length + word.length + 1 > width) {
      lines.push(line);
      line = ' '.repeat(indent);
    }
    line += line.trim() === '' ? word : ` ${word}`;
  }
  lines.push(line);
  console.log(text.slice(0, indent) + lines.join('\n').slice(indent));
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    console.error(
      `The demonstration could not be completed. ${error instanceof Error ? error.message : String(error)}`,
    );
    process.exit(1);
  },
);
