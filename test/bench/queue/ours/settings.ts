/** Where ours is not run with the module's defaults; the page on performance names them. */
export const settings = {
  /** One worker's deliveries in flight at most, where a part says nothing else. */
  slots: 1_000,
  /** Of production: `debug` is left out, and with it the line of each attempt that succeeded. */
  levels: ['fatal', 'error', 'warn', 'log'],
} as const;
