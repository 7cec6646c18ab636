import { requiredText } from './required-text';

/** A handle of a request's body. @throws BadRequestException */
export const handleOf = (value: unknown): string =>
  requiredText('handle', value, /^[a-z0-9_-]{1,40}$/, '1 to 40 of a-z, 0-9, _ and -');
