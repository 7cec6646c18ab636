import { emailKind, field } from 'nest-deliveries/email';

export const welcome = emailKind('welcome', {
  name: field.text,
  link: field.link,
  note: field.optional(field.prose),
});

export const messageKinds = [welcome];
