import {
  BadRequestException,
  ConflictException,
  Injectable,
  NotFoundException,
  ServiceUnavailableException,
  type CallHandler,
  type ExecutionContext,
  type HttpException,
  type NestInterceptor,
} from '@nestjs/common';
import { catchError, type Observable } from 'rxjs';
import { isUnreachable } from '../../database/unreachable';
import {
  DeliveryNotFoundError,
  DeliveryStateError,
  InvalidRequestError,
  RequestTimeoutError,
  type DeliveriesError,
} from '../../errors';

/** Makes HTTP errors of what operations throw: the host's own filters then answer as they do everywhere. */
@Injectable()
export class ErrorsInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      catchError((error: unknown) => {
        throw httpErrorOf(error) ?? error;
      }),
    );
  }
}

/** Undefined for what nobody expected: Nest logs it, and says nothing of it in its answer. */
function httpErrorOf(error: unknown): HttpException | undefined {
  if (error instanceof InvalidRequestError) return new BadRequestException(bodyOf(400, error, { path: error.path }));
  if (error instanceof DeliveryNotFoundError) {
    return new NotFoundException(bodyOf(404, error, { abandoned: error.abandoned }));
  }
  if (error instanceof DeliveryStateError) {
    const { status, inFlight } = error;
    return new ConflictException(bodyOf(409, error, { status, inFlight }));
  }
  if (error instanceof RequestTimeoutError) return new ServiceUnavailableException(bodyOf(503, error, {}));
  if (!isUnreachable(error)) return undefined;
  const message = 'The database does not answer. What is recorded is safe in it; try again when it is back.';
  return new ServiceUnavailableException({ statusCode: 503, code: 'DELIVERIES_DATABASE_UNREACHABLE', message });
}

const bodyOf = (statusCode: number, { code, message }: DeliveriesError, more: object): object => ({
  statusCode,
  code,
  message,
  ...more,
});
