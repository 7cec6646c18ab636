import { emailKind, field } from 'nest-deliveries/email';

/** To an address that was added: follow the link, and it counts. */
export const verificationLink = emailKind('verification-link', { handle: field.text, link: field.link });

/** To the primary address of an account that is to be recovered. */
export const recoveryLink = emailKind('recovery-link', { handle: field.text, link: field.link });

/** What an inbox says, said by email too. */
export const notification = emailKind('notification', {
  handle: field.text,
  subject: field.text,
  text: field.prose,
  /** The notification's page. */
  link: field.link,
  /** Where a recovery can be taken back, for one that can. */
  undo: field.optional(field.link),
  /** The dashboard's alerts, for an alert. */
  alerts: field.optional(field.link),
});

/** What operators announce. */
export const announcement = emailKind('announcement', {
  handle: field.text,
  subject: field.text,
  text: field.prose,
  inbox: field.link,
  /** Absent for an essential one. */
  unsubscribe: field.optional(field.link),
});

/** Every kind of message that this application sends. */
export const messageKinds = [verificationLink, recoveryLink, notification, announcement];
