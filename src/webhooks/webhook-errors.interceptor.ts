import {
  BadRequestException,
  ConflictException,
  Injectable,
  NotFoundException,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { WebhookInputError, WebhookNotFoundError, WebhookStateError } from 'nest-deliveries/webhooks';
import { catchError, throwError, type Observable } from 'rxjs';

/** Says over HTTP what the library says: its messages never repeat what was given. */
@Injectable()
export class WebhookErrorsInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(catchError((error: unknown) => throwError(() => inHttp(error))));
  }
}

function inHttp(error: unknown): unknown {
  if (error instanceof WebhookInputError) return new BadRequestException(error.message);
  if (error instanceof WebhookNotFoundError) return new NotFoundException(error.message);
  return error instanceof WebhookStateError ? new ConflictException(error.message) : error;
}
