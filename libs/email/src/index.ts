// Set up
export { EmailModule, type EmailAsyncOptions } from './email.module';
export { emailOptionDefaults, type EmailOptions } from './email.options';
export type { Sender } from './compose/message';

// Write message kinds
export { emailKind, type ContentOf, type EmailKind } from './compose/email-kind';
export { field, type Field, type Fields, type ValueOf, type ValuesOf } from './compose/field';
export { checkTemplateFolder } from './compose/load-templates';

// Write a channel
export { emailChannel, EmailChannel } from './channel/email-channel';
export { EmailSender } from './channel/email-sender';
export { email, type Email, type EmailExtras } from './compose/email-kind';
export { emailAddress, type EmailAddress } from './compose/address';
export type { Message } from './compose/message';

// Observe
export { EmailHealthIndicator, type EmailHealth } from './health/email-health';

// Errors
export { EmailKindError, EmailOptionsError, EmailTemplateError, InvalidEmailError } from './errors';
