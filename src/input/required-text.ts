import { BadRequestException } from '@nestjs/common';

/**
 * A text of a request's body.
 * @param rule what `pattern` asks for, in words
 * @throws BadRequestException that names the field and the rule
 */
export function requiredText(field: string, value: unknown, pattern: RegExp, rule: string): string {
  if (typeof value === 'string' && pattern.test(value)) return value;
  throw new BadRequestException(
    value === undefined ? `${field} is missing: it must be ${rule}.` : `${field} must be ${rule}.`,
  );
}
