import type { EmailKind } from 'nest-deliveries/email';

/** Every kind of message that this application sends; `npm run check:templates` holds their templates against it. */
export const messageKinds: readonly EmailKind[] = [];
