import type { Resolver } from '../resolve/resolver';

/** What a name answers: its addresses, an error to reject with, or anything that a function decides at each question. */
export type ScriptedAnswer = readonly string[] | Error | ((question: number) => Promise<readonly string[]>);

export interface ScriptedResolver extends Resolver {
  /** Every name that was asked for, in order. */
  readonly asked: string[];
  /** Changes what a name answers from now on. */
  answer(hostname: string, answer: ScriptedAnswer): void;
}

/** A resolver for tests, which knows the names it was told and refuses the others as `ENOTFOUND`. */
export function scriptedResolver(script: Readonly<Record<string, ScriptedAnswer>> = {}): ScriptedResolver {
  const answers = new Map(Object.entries(script));
  const questions = new Map<string, number>();
  const asked: string[] = [];
  const resolve = async (hostname: string): Promise<readonly string[]> => {
    asked.push(hostname);
    const question = (questions.get(hostname) ?? 0) + 1;
    questions.set(hostname, question);
    const answer = answers.get(hostname) ?? Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    if (answer instanceof Error) {
      throw answer;
    }
    return typeof answer === 'function' ? await answer(question) : answer;
  };
  return Object.assign(resolve, {
    asked,
    answer: (hostname: string, answer: ScriptedAnswer): void => {
      answers.set(hostname, answer);
    },
  });
}
