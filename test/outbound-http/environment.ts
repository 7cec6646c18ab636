import { runInThisContext } from 'node:vm';

function isEnvironment(value: unknown): value is NodeJS.ProcessEnv {
  return typeof value === 'object' && value !== null;
}

/**
 * Runs with variables of the process's real environment changed. Within a test `process.env` is a copy, which Node's own
 * modules never look at.
 */
export async function withEnvironment<T>(
  variables: Readonly<Record<string, string | undefined>>,
  run: () => Promise<T>,
): Promise<T> {
  const real: unknown = runInThisContext('process.env');
  if (!isEnvironment(real)) {
    throw new Error('the real environment cannot be reached');
  }
  const set = (values: Readonly<Record<string, string | undefined>>): void => {
    for (const [name, value] of Object.entries(values)) {
      for (const environment of [real, process.env]) {
        if (value === undefined) {
          delete environment[name];
        } else {
          environment[name] = value;
        }
      }
    }
  };
  const before = Object.fromEntries(Object.keys(variables).map((name) => [name, real[name]]));
  set(variables);
  try {
    return await run();
  } finally {
    set(before);
  }
}
