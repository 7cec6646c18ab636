/** What a JSON text can say. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
