import { HttpException } from '@nestjs/common';
import { isUnreachable } from '../../../database/unreachable';
import { DeliveryNotFoundError, DeliveryStateError, InvalidRequestError, RequestTimeoutError } from '../../../errors';
import type { Problem } from '../pages/error-page';

/** Why something that was thrown keeps a page from being shown; undefined for what nobody expected. */
export function problemOf(error: unknown): Problem | undefined {
  const text = (error as Error).message;
  if (error instanceof DeliveryNotFoundError) return { status: 404, title: 'Not there', text, again: false };
  if (error instanceof DeliveryStateError) return { status: 409, title: 'Not in this state', text, again: false };
  if (error instanceof InvalidRequestError) return { status: 400, title: 'Not understood', text, again: false };
  if (error instanceof RequestTimeoutError) return { status: 503, title: 'That took too long', text, again: true };
  // What the host's own functions throw, such as one that does not know who asks.
  if (error instanceof HttpException) return { status: error.getStatus(), title: 'Refused', text, again: false };
  if (isUnreachable(error)) {
    const down =
      'The database does not answer. Recorded deliveries are safe in it; workers go on by themselves when it is back.';
    return { status: 503, title: 'No answer from the database', text: down, again: true };
  }
  return undefined;
}

/** What was not expected is said in the log, not on the page: its words may quote anything. */
export const unexpected: Problem = {
  status: 500,
  title: 'Something went wrong',
  text: 'The application’s log says what. Nothing is lost: deliveries go on without this page.',
  again: true,
};

/** A form that no page of this dashboard sent, or one that is too old. */
export const foreignForm = (why: 'other-site' | 'no-token'): Problem =>
  why === 'other-site'
    ? {
        status: 403,
        title: 'Refused',
        text: 'This form came from another site. Nothing was changed.',
        again: false,
      }
    : {
        status: 403,
        title: 'Refused',
        text:
          'This form’s token is missing or old. Nothing was changed. Go back, reload the page and send it again. If it is always ' +
          'refused, look whether the browser keeps cookies and whether the application reads forms (bodyParser).',
        again: false,
      };
