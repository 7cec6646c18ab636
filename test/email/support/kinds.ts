import { emailKind, field } from 'nest-deliveries/email';
import { join } from 'node:path';

/** A kind with a field of each sort. */
export const receipt = emailKind('receipt', {
  customer: field.text,
  message: field.prose,
  link: field.link,
  items: field.list({ name: field.text, gift: field.flag }),
  coupon: field.optional(field.text),
});

export const templates = join(__dirname, '../templates');

export const from = { name: 'Example Shop', address: 'hello@shop.example' };
