/**
 * Fields one after the other, each preceded by its length as eight bytes, big-endian: no two lists of fields give the same bytes,
 * however a field is cut.
 */
export function framed(...fields: readonly (string | Uint8Array)[]): Buffer {
  return Buffer.concat(
    fields.flatMap((field) => {
      const bytes = typeof field === 'string' ? Buffer.from(field, 'utf8') : field;
      const length = Buffer.alloc(8);
      length.writeBigUInt64BE(BigInt(bytes.length));
      return [length, bytes];
    }),
  );
}
