const mark = Symbol.for('nest-deliveries: this process runs commands');

type Marked = typeof globalThis & { [mark]?: true };

/**
 * From now on every `DeliveriesModule` of this process records and operates, and nothing else: no worker, no clean-up by the
 * clock, no LISTEN, no metrics, and no question to the database at its start. On the global object, since a bundle may hold
 * this file twice.
 */
export const markCommandProcess = (): void => void ((globalThis as Marked)[mark] = true);

export const isCommandProcess = (): boolean => (globalThis as Marked)[mark] === true;
