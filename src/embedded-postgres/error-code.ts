/** The `code` of a system's or a driver's error (`ENOENT`, `42P04`), undefined when there is none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
