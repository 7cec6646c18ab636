import { BadRequestException } from '@nestjs/common';
import { emailAddress, InvalidEmailError, type EmailAddress } from 'nest-deliveries/email';

/** An address of a request's body. @throws BadRequestException that names the field and the rule, never the value */
export function requiredEmail(field: string, value: unknown): EmailAddress {
  try {
    return emailAddress(value as string);
  } catch (error) {
    if (!(error instanceof InvalidEmailError)) throw error;
    throw new BadRequestException(`${field} ${error.rule}.`);
  }
}
