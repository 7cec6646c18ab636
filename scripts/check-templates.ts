// Part of the build, so that it fails where a start would. Arguments: the folder of the templates, and the module that exports
// `messageKinds`. Exit code 1, and a line with file and line for each problem.
import { checkTemplateFolder, type EmailKind } from 'nest-deliveries/email';
import { resolve } from 'node:path';

const [folder, kindsModule] = process.argv.slice(2) as [string, string];

async function main(): Promise<number> {
  const { messageKinds } = (await import(resolve(kindsModule))) as { messageKinds: readonly EmailKind[] };
  const problems = checkTemplateFolder(resolve(folder), messageKinds);
  for (const problem of problems) console.error(problem);
  return problems.length === 0 ? 0 : 1;
}

void main().then(
  (code) => (process.exitCode = code),
  (error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  },
);
