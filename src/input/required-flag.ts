import { BadRequestException } from '@nestjs/common';

/** A truth value of a request's body. @throws BadRequestException that names the field */
export function requiredFlag(field: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new BadRequestException(`${field} must be true or false.`);
}
