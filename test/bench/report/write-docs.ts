import type { Result } from './result';

export async function writeDocs(_result: Result): Promise<string[]> {
  return [];
}
